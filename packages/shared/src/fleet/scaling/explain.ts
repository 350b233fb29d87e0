/** The sentence of a scaling decision. */
import type { ScaleReason } from '../../contracts/scale.ts';
import type { Need, PoolState } from './decision.ts';
import type { ScalePolicy, WorkerLimits } from './policy.ts';

export interface Explained {
  readonly desired: number;
  readonly reason: ScaleReason;
  readonly need: Need;
  readonly held: { readonly workers: number; readonly untilMs: number } | undefined;
  readonly limits: WorkerLimits;
  readonly policy: ScalePolicy;
  readonly state: PoolState;
  readonly startMs: number;
}

export function explain(explained: Explained): string {
  const { desired, reason, limits } = explained;
  const why = whyOf(explained);
  switch (reason) {
    case 'min':
      return `${desired}: ${why}; the pool always has at least ${limits.min}`;
    case 'max':
      return `${desired}: ${why}; the pool has at most ${limits.max}`;
    case 'budget':
      return `${desired}: ${why}; the budget allows ${limits.max}`;
    case 'schedule':
      return `${desired}: ${why}; the schedule now asks for ${desired === limits.min ? 'at least' : 'at most'} ${desired}`;
    default:
      return `${desired}: ${why}`;
  }
}

function whyOf({ need, held, policy, state, startMs }: Explained): string {
  if (held) {
    const seconds = Math.max(1, Math.ceil((held.untilMs - state.atMs) / 1000));
    return `${held.workers === 1 ? '1 was' : `${held.workers} were`} needed a short time ago, kept for ${seconds} s more`;
  }
  switch (need.reason) {
    case 'idle':
      return 'no work';
    case 'running':
      return state.running === 1 ? '1 job runs' : `${state.running} jobs run`;
    case 'arriving':
      return `work for ${need.arriving.toFixed(1)} workers arrives`;
    case 'waiting': {
      const { priority = 'standard', waitingMs = 0, thenMs = 0 } = need;
      const kind = priority === 'standard' ? 'work' : `${priority} work`;
      const then = inSeconds(thenMs);
      const [now, target] = [inSeconds(waitingMs), inSeconds(policy.target_wait_s[priority] * 1000)];
      const later = then === now ? '' : ` (${then} when a new worker serves)`;
      const starts = startMs < 1000 ? '' : `, starts take ${inSeconds(startMs)}`;
      return `${now} of ${kind} waits${later}, target ${target}${starts}`;
    }
  }
}

const inSeconds = (ms: number): string =>
  `${ms < 10_000 ? Number((ms / 1000).toFixed(1)) : Math.round(ms / 1000)} s`;
