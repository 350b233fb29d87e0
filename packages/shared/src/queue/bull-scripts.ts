/**
 * BullMQ's own scripts as Lua functions, for scripts that do more in the same round trip. Each function takes KEYS and ARGV. The
 * package has no types for these files, and shows its scripts nowhere else; test/queue/bullmq-facts.test.ts checks what they are relied on for.
 */
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const textOf = (name: string, keys: number): string => {
  const scripts = load(`bullmq/dist/cjs/scripts/${name}-${keys}.js`) as Record<
    string,
    { readonly content: string }
  >;
  return scripts[name].content;
};

export const asFunction = (name: string, lua: string): string =>
  `local function ${name}(KEYS, ARGV)\n${lua}\nend`;

/** Finished BullMQ jobs are kept for the admin page only; the record is what callers read. */
export const KEEP_FINISHED = { age: 3600, count: 1000 };
/** The same as a table in Lua. */
export const KEPT_LUA = `local KEPT = { age = ${KEEP_FINISHED.age}, count = ${KEEP_FINISHED.count} }`;

/** Adds a job with a priority. */
export const BULL_ADD_LUA = asFunction('bull_add', textOf('addPrioritizedJob', 9));
/** Takes the next job of a queue and locks it. */
export const BULL_TAKE_LUA = asFunction('bull_take', textOf('moveToActive', 11));
/** Ends a job that was taken, and removes its lock. */
export const BULL_FINISH_LUA = asFunction('bull_finish', textOf('moveToFinished', 14));
