/**
 * A claimed job while this worker has it. It owns one sample per picture and knows what still has to happen:
 *
 *   working    samples are with the engine or their pictures on the way to the store
 *   stopping   cancelled, expired or failed: waiting until the engine has dropped what is left
 *   over       its end is decided and being written, or the lease was lost and nothing may be written
 */
import { randomUUID } from 'node:crypto';
import {
  type ErrorCode,
  type LeaseToken,
  type ObjectKey,
  rowsPerSample,
  seedOfSample,
  type TextToImageInput,
  toObjectKey,
} from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord, StoredImage } from '@lehr/shared/records';
import type { DiffusionSample, SampleId } from '../engine/protocol.ts';
import type { PictureTimes } from './timeline.ts';

/** Why a job stops before its pictures are done. */
export type StopReason =
  | { readonly kind: 'canceled' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  /** Handed back for another worker: this one is draining. */
  | { readonly kind: 'handed-back' }
  /** Somebody else has the job now; nothing may be written. */
  | { readonly kind: 'lost' };

export interface Picture {
  readonly image: StoredImage;
  readonly times: PictureTimes;
  readonly batchSize: number;
}

export interface SampleRun {
  readonly index: number;
  readonly request: DiffusionSample;
  /** Parent's monotonic clock, at the last time it was sent to an engine. */
  submittedAt: number;
  step: number;
  /** `engine` until the engine is done with it, then `storing`, then `stored`. */
  place: 'engine' | 'storing' | 'stored';
  picture?: Picture;
}

export class JobRun {
  readonly claim: Claim;
  readonly record: JobRecord;
  readonly input: TextToImageInput;
  /** Parent's monotonic clock: when the record said running. */
  readonly claimedAt: number;
  readonly samples: readonly SampleRun[];
  readonly #abort = new AbortController();
  #stop: StopReason | undefined;

  constructor(claim: Claim, record: JobRecord, input: TextToImageInput, claimedAt: number) {
    this.claim = claim;
    this.record = record;
    this.input = input;
    this.claimedAt = claimedAt;
    this.samples = Array.from({ length: input.n }, (_, index) => ({
      index,
      request: {
        id: `${claim.jobId}.${index}.${randomUUID()}` as SampleId,
        task: 'diffusion',
        model: record.model,
        lane: record.queue,
        prompt: input.prompt,
        negativePrompt: input.negative_prompt,
        width: input.width,
        height: input.height,
        steps: input.steps,
        guidance: input.guidance,
        seed: seedOfSample(input.seed, index),
        sampler: input.sampler,
        company: Number.MAX_SAFE_INTEGER,
      },
      submittedAt: claimedAt,
      step: 0,
      place: 'engine',
    }));
  }

  get lease(): LeaseToken {
    return this.claim.token;
  }

  get rowsPerSample(): number {
    return rowsPerSample(this.input.guidance);
  }

  /** Aborts uploads that are on their way when the job stops. */
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

  get isDone(): boolean {
    return this.samples.every((sample) => sample.place === 'stored');
  }

  get inEngine(): readonly SampleRun[] {
    return this.samples.filter((sample) => sample.place === 'engine');
  }

  /** Of all steps of all samples, how many are done. */
  get progress(): { step: number; steps: number } {
    return {
      step: this.samples.reduce((sum, sample) => sum + sample.step, 0),
      steps: this.samples.length * this.input.steps,
    };
  }

  /** Where this attempt's outputs go. The key carries the lease, so a losing attempt never overwrites a winner's file. */
  outputKey(index: number, extension: string): ObjectKey {
    return toObjectKey(`${this.outputFolder}${this.lease}/${index}.${extension}`);
  }

  /** Outputs of all attempts of this job lie below it. */
  get outputFolder(): string {
    return `out/${this.record.tenant}/${this.record.id}/`;
  }
}
