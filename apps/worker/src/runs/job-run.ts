/**
 * A claimed job while this worker has it. It gives the engine samples (one per picture, one per audio window), takes what
 * becomes of them, and knows when there is nothing left to do:
 *
 *   working    the engine has samples of it, or their results are being stored
 *   stopping   cancelled, expired or failed: waiting until the engine has dropped what is left
 *   over       its end is decided and being written, or the lease was lost and nothing may be written
 *
 * picture-run.ts and speech-run.ts are the two kinds.
 */
import { type LeaseToken, type ObjectKey, type PlainError, type Progress, toObjectKey } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, Move } from '@lehr/shared/records';
import type { EngineSample, FromEngine, SegmentMessage } from '../engine/protocol.ts';

/** Why a job stops before it is done. */
export type StopReason =
  | { readonly kind: 'canceled' }
  | { readonly kind: 'expired' }
  | ({ readonly kind: 'failed' } & PlainError)
  /** Handed back for another worker: this one is draining. */
  | { readonly kind: 'handed-back' }
  /** Somebody else has the job now; nothing may be written. */
  | { readonly kind: 'lost' };

/** What the engine has, or had, of a job. */
export interface SampleRun {
  readonly request: EngineSample;
  /** Rows it takes in its lane's batch. */
  readonly rows: number;
  /** Parent's monotonic clock, at the last time it was sent to an engine. */
  submittedAt: number;
  step: number;
  inEngine: boolean;
}

/** The engine's last word on a sample that went well. */
export type SampleResult = Extract<FromEngine, { type: 'finished' | 'transcribed' }>;

export abstract class JobRun {
  readonly claim: Claim;
  readonly record: JobRecord;
  /** Parent's monotonic clock: when the record said running. */
  readonly claimedAt: number;
  readonly #abort = new AbortController();
  #stop: StopReason | undefined;

  constructor(claim: Claim, record: JobRecord, claimedAt: number) {
    this.claim = claim;
    this.record = record;
    this.claimedAt = claimedAt;
  }

  /** What the engine has of it, and possibly what it had. */
  abstract readonly samples: readonly SampleRun[];
  /** Nothing is left to do but to write the end. */
  abstract readonly isDone: boolean;
  abstract readonly progress: Progress;

  /** What the engine can begin with. Rejects when the job cannot be done. */
  abstract begin(): Promise<readonly SampleRun[]>;

  /** Takes a result of the engine; returns what the engine has to do next. Rejects when the job cannot be done. */
  abstract take(sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]>;

  /** A part of a sample is final while the rest is still under way. */
  hear(_sample: SampleRun, _message: SegmentMessage): void {}

  /** What a `succeed` writes into the record, once the job is done. */
  abstract result(worker: string): Move['fields'];

  /** Rows that it has none of yet and is about to ask for: what they wait for takes a while. */
  get rowsToCome(): number {
    return 0;
  }

  get lease(): LeaseToken {
    return this.claim.token;
  }

  /** Aborts whatever of the job is under way outside the engine. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#stop;
  }

  /** Decides how the job ends; the first reason stands, but a lost lease overrules all: nothing may be written then. */
  stop(reason: StopReason): void {
    if (this.#stop && reason.kind !== 'lost') return;
    this.#stop = reason;
    this.#abort.abort();
  }

  get inEngine(): readonly SampleRun[] {
    return this.samples.filter((sample) => sample.inEngine);
  }

  /** From the request until this attempt was claimed, by Redis's clock. */
  get queuedMs(): number {
    return this.record.state === 'running' ? this.record.started_at - this.record.created_at : 0;
  }

  /** Where this attempt's outputs go. The key carries the lease, so a losing attempt never overwrites a winner's file. */
  outputKey(name: string): ObjectKey {
    return toObjectKey(`${this.outputFolder}${this.lease}/${name}`);
  }

  /** Outputs of all attempts of this job lie below it. */
  get outputFolder(): string {
    return `out/${this.record.tenant}/${this.record.id}/`;
  }
}
