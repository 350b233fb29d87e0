/** Lua scripts as typed functions: EVALSHA on a connection or inside a transaction, loaded by ioredis when missing. */
import type { ChainableCommander, Redis } from 'ioredis';

export interface Script {
  run(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown>;
  /** Queues the script on a MULTI or pipeline of the same connection; its reply is that command's reply. */
  queue(transaction: ChainableCommander, keys: readonly string[], args: readonly (string | number)[]): void;
}

type Command = (...args: (string | number)[]) => unknown;

/** `name` must be unique per connection; defining it again with the same text is harmless. */
export function defineScript(redis: Redis, name: string, lua: string): Script {
  redis.defineCommand(name, { lua });
  const call = (target: object, keys: readonly string[], args: readonly (string | number)[]): unknown =>
    (target as Record<string, Command>)[name](keys.length, ...keys, ...args);
  return {
    run: async (keys, args) => call(redis, keys, args),
    queue: (transaction, keys, args) => {
      call(transaction, keys, args);
    },
  };
}

/**
 * Loads every script of this connection again, for a server that forgot them (SCRIPT FLUSH; from 7.4 on, eviction). Inside
 * a transaction ioredis does not notice that a script is missing, and would go on naming it by its hash for ever.
 */
export async function reloadScripts(redis: Redis): Promise<void> {
  const scripts = Object.values(redis.scriptsSet as Record<string, { readonly lua: string }>);
  await Promise.all(scripts.map(({ lua }) => redis.script('LOAD', lua)));
}

export const isMissingScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT');
