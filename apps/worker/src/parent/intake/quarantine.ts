/**
 * Stops the claiming of a worker whose engine fails one job after the other: its device may be faulty, and another worker can
 * run those jobs. Only failures that the engine or the model caused count, and of each job only one, so that a job that crashes
 * every engine stops no worker. Where the worker has lately had jobs of several tenants, the failed ones must be of several too: the prompts of
 * one tenant may be the cause.
 *
 *   serving     -> quarantine  MAX_IN_A_ROW jobs in a row failed, or half of the last jobs produced no valid numbers
 *   quarantine  -> trial       a pause has passed; the engine is restarted
 *   trial       -> serving     a job succeeds
 *   trial       -> quarantine  MAX_AT_TRIAL jobs in a row failed; the pause is twice as long
 */
import type { Clock, ErrorCode, JobId, Log, TenantId } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

export interface QuarantineOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly firstPauseMs: number;
  /** Starts another engine, unless the engine has work. */
  readonly restartEngine: () => void;
  /** The pause has passed: jobs may be claimed again. */
  readonly onOver: () => void;
}

const ENGINE_FAULTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'engine-crashed',
  'engine-failed',
  'numeric-error',
  'out-of-memory',
]);
const MAX_IN_A_ROW = 5;
const MAX_AT_TRIAL = 2;
/** The jobs of which at most half may produce no valid numbers. */
const LAST_JOBS = 20;
/** A worker counts as one of a tenant when jobs of no other one have ended here for this long. */
const TENANT_KEPT_MS = 3_600_000;
const MAX_PAUSE_MS = 600_000;

type EndedJob = Pick<JobRecord, 'id' | 'tenant'>;

export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #stop = new AbortController();
  readonly #failedInARow = new Map<JobId, TenantId>();
  /** The last jobs, each with its tenant if it produced no valid numbers. */
  readonly #last = new Map<JobId, TenantId | undefined>();
  /** The two tenants whose jobs ended here last, and when, by the monotonic clock. */
  readonly #tenants = new Map<TenantId, number>();
  #isTrial = false;
  #pauseMs: number;
  #reason: string | undefined;

  constructor(options: QuarantineOptions) {
    this.#options = options;
    this.#pauseMs = options.firstPauseMs;
  }

  /** Why the worker claims no jobs, in a sentence; undefined while it may. */
  get reason(): string | undefined {
    return this.#reason;
  }

  succeeded(job: EndedJob): void {
    this.#failedInARow.clear();
    this.#note(job, false);
    if (this.#reason !== undefined) return;
    this.#isTrial = false;
    this.#pauseMs = this.#options.firstPauseMs;
  }

  failed(job: EndedJob, code: ErrorCode): void {
    if (!ENGINE_FAULTS.has(code)) return;
    this.#failedInARow.set(job.id, job.tenant);
    this.#note(job, code === 'numeric-error');
    if (this.#reason !== undefined) return;
    const invalid = [...this.#last.values()].filter((tenant) => tenant !== undefined);
    const failed = [...this.#failedInARow.values()];
    const most = this.#isTrial ? MAX_AT_TRIAL : MAX_IN_A_ROW;
    if (failed.length >= most && this.#mayBeDevice(failed)) {
      void this.#begin(`${failed.length} jobs in a row failed, the last one with ${code}`);
    } else if (
      this.#last.size === LAST_JOBS &&
      invalid.length >= LAST_JOBS / 2 &&
      this.#mayBeDevice(invalid)
    ) {
      void this.#begin(`${invalid.length} of the last ${LAST_JOBS} jobs produced no valid numbers`);
    }
  }

  /** Whether the device may be the cause of the failures of these tenants' jobs, and not the prompts of one tenant. */
  #mayBeDevice(tenants: readonly TenantId[]): boolean {
    const since = this.#options.clock.monotonic() - TENANT_KEPT_MS;
    const recent = [...this.#tenants.values()].filter((endedAt) => endedAt >= since);
    return recent.length < 2 || new Set(tenants).size > 1;
  }

  /** The worker is closing: no pause ends any more. */
  close(): void {
    this.#stop.abort();
  }

  #note({ id, tenant }: EndedJob, isInvalid: boolean): void {
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, this.#options.clock.monotonic());
    if (this.#tenants.size > 2) this.#tenants.delete(this.#tenants.keys().next().value as TenantId);
    this.#last.delete(id);
    this.#last.set(id, isInvalid ? tenant : undefined);
    if (this.#last.size > LAST_JOBS) this.#last.delete(this.#last.keys().next().value as JobId);
  }

  async #begin(reason: string): Promise<void> {
    const { clock, log, restartEngine, onOver } = this.#options;
    const pauseMs = this.#pauseMs;
    this.#reason = reason;
    this.#pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    log.error({ reason, pauseMs }, 'worker in quarantine; it claims no jobs');
    await clock.sleep(pauseMs, this.#stop.signal);
    if (this.#stop.signal.aborted) return;
    this.#failedInARow.clear();
    this.#last.clear();
    this.#isTrial = true;
    restartEngine();
    this.#reason = undefined;
    log.info({}, 'quarantine over; the worker claims jobs again');
    onOver();
  }
}
