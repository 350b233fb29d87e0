/**
 * One attempt of a job on this worker: it makes the engine's samples (one per picture, one per audio window, one for all texts, one for a picture to transform) and takes their
 * results, until its end can be written:
 *
 *   working    the engine has samples of it, or its inputs or outputs are being fetched or stored
 *   stopping   cancelled, expired, failed, handed back or lost: the engine has not dropped all its samples yet
 *   over       done or stopped, and the engine has no sample of it
 *
 * picture-run.ts, speech-run.ts, text-run.ts and transform-run.ts are the kinds.
 */
import { type LeaseToken, type ObjectKey, outputFolder, type Progress, toObjectKey } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import { type JobRecord, type Move, waitingSince } from '@lehr/shared/records';
import type { Span } from '@lehr/shared/tracing';
import type { EngineSample, FromEngine, SegmentMessage } from '../../engine/protocol/messages.ts';
import type { Attempt, StopReason } from '../delivery/attempt.ts';

/** A sample of a job, whether the engine has it or had it. */
export interface SampleRun {
  readonly request: EngineSample;
  /** Rows that it takes in its lane. */
  readonly rows: number;
  /** This process's monotonic clock, when the sample was last sent to an engine. */
  submittedAt: number;
  step: number;
  /** Where it has its rows after it left the lane of its request. */
  lane?: string;
  /** Those that it makes in all; absent where they are not known. */
  steps?: number;
  inEngine: boolean;
  /** The newest checkpoint; the engine continues there when the sample is submitted again. */
  checkpoint?: Uint8Array;
}

/** The last message about a sample that succeeded. */
export type SampleResult = Extract<
  FromEngine,
  { type: 'finished' | 'transcribed' | 'answered' | 'transformed' }
>;

export abstract class JobRun implements Attempt {
  readonly claim: Claim;
  readonly record: JobRecord;
  /** This process's monotonic clock, when the record became running. */
  readonly claimedAt: number;
  /** Of this attempt; absent when its request is not traced. */
  span: Span | undefined;
  /** Has no record (intake/direct-runs.ts). */
  isDirect = false;
  realCostMs: number | undefined;
  readonly #abort = new AbortController();
  #stop: StopReason | undefined;

  constructor(claim: Claim, record: JobRecord, claimedAt: number) {
    this.claim = claim;
    this.record = record;
    this.claimedAt = claimedAt;
  }

  /** The samples that the engine has, and possibly those that it had. */
  abstract readonly samples: readonly SampleRun[];
  /** All outputs are stored; only the end is left to write. */
  abstract readonly isDone: boolean;
  abstract readonly progress: Progress;
  /** Rows of the samples that `begin` returns; reserved until then, unless it has an input to fetch. */
  abstract readonly firstRows: number;

  /** Fetches what the job needs; returns its first samples. Rejects when the job cannot be done. */
  abstract begin(): Promise<readonly SampleRun[]>;

  /** Takes the result of a sample; returns the samples to run next. Rejects when the job cannot be done. */
  abstract addResult(sample: SampleRun, result: SampleResult): Promise<readonly SampleRun[]>;

  /** Whether `begin` fetches media, which may take long. */
  get fetchesInput(): boolean {
    return false;
  }

  /** What `samples` have to go together when they are submitted, in estimated engine ms. */
  get leftMs(): number {
    return this.record.cost;
  }

  /** Takes a segment of an audio window whose end is not reached yet. */
  addSegment(_sample: SampleRun, _message: SegmentMessage): void {}

  /** The fields that `succeed` writes into the record, once the job is done. */
  abstract successFields(worker: string): Move['fields'];

  /** Whether nobody may see its pictures before they are done. */
  get hidesPreviews(): boolean {
    return false;
  }

  /** `name@version` of the models whose graphs it runs. */
  get models(): readonly string[] {
    return [this.record.model];
  }

  get lease(): LeaseToken {
    return this.claim.token;
  }

  /** Aborts the work of this attempt outside the engine. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get stopReason(): StopReason | undefined {
    return this.#stop;
  }

  /** Decides how the attempt ends. The first reason stands, except that a lost lease overrides it: nothing may be written then. */
  stop(reason: StopReason): void {
    if (this.#stop && reason.kind !== 'lost') return;
    this.#stop = reason;
    this.#abort.abort();
  }

  get samplesInEngine(): readonly SampleRun[] {
    return this.samples.filter((sample) => sample.inEngine);
  }

  /** How long the job waited until this attempt started, by Redis's clock. */
  get queuedMs(): number {
    return this.record.state === 'running' ? this.record.started_at - waitingSince(this.record) : 0;
  }

  /** The key of an output. It holds the lease token, so that an attempt that lost its lease never overwrites another's file. */
  outputKey(name: string): ObjectKey {
    return toObjectKey(`${this.outputFolder}${this.lease}/${name}`);
  }

  /** The common prefix of the outputs of all attempts of this job. */
  get outputFolder(): string {
    return outputFolder(this.record.tenant, this.record.id);
  }
}
