/** What decides how many workers there should be: Lehr, KEDA's queue length, and a number that never changes. */
import {
  desiredWorkers,
  NO_MEMORY,
  type PoolState,
  type ScaleMemory,
  ScalePolicySchema,
} from '../../../packages/shared/src/index.ts';

/** What a scaler can see. */
export interface Seen {
  readonly atS: number;
  readonly waiting: number;
  /** As Lehr estimates it. */
  readonly waitingS: number;
  /** Jobs that run, one on each worker. */
  readonly running: number;
  readonly ready: number;
}

export interface Scaler {
  readonly name: string;
  /** Workers there should be; called every 5 seconds. */
  want(seen: Seen): number;
  /** How the number is applied. */
  readonly hpa: HpaSettings | undefined;
  /** At the begin of the curve. */
  readonly first: number;
}

export interface HpaSettings {
  readonly shrinkWindowS: number;
  /** How long the number must be 0 before the last worker goes: KEDA's cooldownPeriod. */
  readonly zeroAfterS: number;
  readonly max: number;
}

export const MAX_WORKERS = 40;

/** The function that ships, with the policy of docs/scaling.md, applied by KEDA as that page says. */
export function lehrScaler(startS: number, policy: object = {}): Scaler {
  const parsed = ScalePolicySchema.parse({ max: MAX_WORKERS, start_s: startS, ...policy });
  let memory: ScaleMemory = NO_MEMORY;
  return {
    name: `Lehr, target ${parsed.target_wait_s.standard} s`,
    want: ({ atS, waitingS, running, ready }) => {
      const state: PoolState = {
        atMs: atS * 1000,
        waitingMs: { interactive: 0, standard: waitingS * 1000, bulk: 0 },
        running,
        busy: running,
        live: ready,
      };
      const decision = desiredWorkers(state, parsed, memory);
      memory = decision.memory;
      return decision.desired;
    },
    hpa: { shrinkWindowS: 0, zeroAfterS: 0, max: MAX_WORKERS },
    first: 0,
  };
}

/** Waiting and running jobs over a target, as KEDA's users write it; the windows are the defaults of KEDA and HPA. */
export const kedaScaler = (jobsPerWorker: number, shrinkWindowS = 300): Scaler => ({
  name: `KEDA, ${jobsPerWorker} jobs a worker`,
  want: ({ waiting, running }) => Math.ceil((waiting + running) / jobsPerWorker),
  hpa: { shrinkWindowS, zeroAfterS: shrinkWindowS, max: MAX_WORKERS },
  first: 0,
});

export const staticScaler = (workers: number): Scaler => ({
  name: `${workers} workers`,
  want: () => workers,
  hpa: undefined,
  first: workers,
});
