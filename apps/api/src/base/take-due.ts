/** Sorted sets of what is due at a time, which all API processes work off together. */
import { readFileSync } from 'node:fs';
import { defineScript, type Redis } from '@lehr/shared/redis';

const TAKE_DUE_LUA = readFileSync(new URL('./take-due.lua', import.meta.url), 'utf8');

export interface TakeOptions {
  readonly count: number;
  /** No other process takes them for this long. What is not removed until then is due again. */
  readonly holdMs: number;
}

/** Returns a function that takes the entries of the set that are due, the longest due first. */
export function takerOf(redis: Redis, set: string): (options: TakeOptions) => Promise<string[]> {
  const script = defineScript(redis, 'lehrTake', TAKE_DUE_LUA);
  return async ({ count, holdMs }) => (await script.run([set], [count, holdMs])) as string[];
}
