/** Lua scripts as typed functions: EVALSHA on a connection, loaded by ioredis when the server does not know them. */
import type { Redis } from './connect.ts';

export interface Script {
  run(keys: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown>;
}

type Command = (...args: (string | number | Buffer)[]) => Promise<unknown>;

/** `name` must be unique per connection; defining it again with the same text is harmless. */
export function defineScript(redis: Redis, name: string, lua: string): Script {
  redis.defineCommand(name, { lua });
  const command = (redis as unknown as Record<string, Command>)[name];
  return { run: (keys, args) => command.call(redis, keys.length, ...keys, ...args) };
}

/** The replies of a pipeline; throws the first error among them. */
export function repliesOf(results: readonly [Error | null, unknown][] | null): unknown[] {
  return (results ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}
