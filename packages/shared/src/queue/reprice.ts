/** Charges a job what it really costs, once that is known (reprice.lua). Admission charged an estimate. */
import { readFileSync } from 'node:fs';
import type { LeaseToken } from '../base/ids.ts';
import type { JobRecord } from '../records/index.ts';
import { defineScript, type Keys, type Redis, type Script } from '../redis/index.ts';
import { asFunction } from './bull-scripts.ts';

/** Functions for scripts that read or write the budget of a key. */
export const BUDGET_LUA = readFileSync(new URL('./budget.lua', import.meta.url), 'utf8');
/** The function `reprice`, whose KEYS and ARGV are those of a Charge. */
export const REPRICE_LUA =
  BUDGET_LUA + asFunction('reprice', readFileSync(new URL('./reprice.lua', import.meta.url), 'utf8'));

export type Repriced =
  | { readonly code: 'ok' | 'stale' }
  /** The key owes this much for other jobs, more than its budget refills in a minute. */
  | { readonly code: 'refused'; readonly owedMs: number };

export class Repricer {
  readonly #keys: Keys;
  readonly #script: Script;

  constructor(redis: Redis, keys: Keys) {
    this.#keys = keys;
    this.#script = defineScript(redis, 'lehrReprice', `${REPRICE_LUA}\nreturn reprice(KEYS, ARGV)`);
  }

  /** One round trip. `cost` is in estimated engine ms. May be repeated: the same cost is charged once. */
  async reprice(job: JobRecord, lease: LeaseToken, cost: number): Promise<Repriced> {
    const { keys, args } = chargeOf(this.#keys, job, lease, cost);
    const [code, owedMs] = (await this.#script.run(keys, args)) as [Repriced['code'], number | undefined];
    return code === 'refused' ? { code, owedMs: owedMs ?? 0 } : { code };
  }
}

export interface Charge {
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** A job that `isDone` is not refused: its work cannot be saved any more. */
export function chargeOf(
  keys: Keys,
  job: JobRecord,
  lease: LeaseToken,
  cost: number,
  isDone = false,
): Charge {
  const { id, tenant, queue, priority, payer } = job;
  return {
    keys: [
      keys.record(id),
      keys.fair(queue),
      keys.fairTags(queue, priority),
      keys.budget(payer?.key ?? 'none'),
    ],
    args: [lease, tenant, priority, cost, payer?.budget_ms ?? '', payer?.weight ?? 1, isDone ? 1 : 0].map(
      String,
    ),
  };
}
