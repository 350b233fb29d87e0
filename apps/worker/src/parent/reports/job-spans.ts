/**
 * The trace of the jobs that a worker runs. A job of a traced request has a span for its wait in line and one for each attempt; what
 * the engine does for it becomes children of the attempt. Steps that samples of several jobs shared are linked with each other. A
 * worker that is killed leaves the span of its attempt unsent.
 */
import type { Clock, JobState, WorkerId } from '@lehr/shared';
import { waitingSince } from '@lehr/shared/records';
import type { Tracing } from '@lehr/shared/tracing';
import type { FromEngine, SampleId } from '../../engine/protocol/messages.ts';
import type { JobRun, SampleRun } from '../runs/job-run.ts';

export interface JobSpansOptions {
  readonly tracing: Tracing;
  /** Of this worker. */
  readonly id: WorkerId;
  readonly clock: Clock;
}

type FindSample = (id: SampleId) => { readonly run: JobRun; readonly sample: SampleRun } | undefined;

type SteppedMessage = Extract<FromEngine, { type: 'stepped' }>;
/** Parts of a sample by their names: when each began and ended, in ms since the sample was submitted. */
type Parts = Readonly<Record<string, readonly [startAt: number, endAt: number]>>;

/** A step that many traced jobs share is not linked with all of them. */
const MAX_LINKS = 16;

export class JobSpans {
  readonly #options: JobSpansOptions;
  readonly #findSample: FindSample;
  /** How many of the jobs that run now are traced. */
  #traced = 0;

  constructor(options: JobSpansOptions, findSample: FindSample) {
    this.#options = options;
    this.#findSample = findSample;
  }

  /** Gives the run its span, if its request is traced. */
  started(run: JobRun): void {
    const { tracing, id: worker } = this.#options;
    const { record } = run;
    const { trace: parent } = record;
    if (parent === undefined) return;
    const job = { 'lehr.job.id': record.id, 'lehr.job.type': record.type };
    const waitedFrom = { parent, attributes: job, startMs: waitingSince(record) };
    tracing
      .start('wait in line', waitedFrom)
      ?.end({ endMs: waitingSince(record) + Math.max(0, run.queuedMs) });
    const span = tracing.start(`run ${record.type}`, {
      parent,
      kind: 'consumer',
      attributes: {
        ...job,
        'lehr.job.attempt': record.attempt,
        'lehr.job.priority': record.priority,
        'lehr.model': record.model,
        'lehr.workflow.node': record.node,
        'lehr.worker.id': worker,
      },
    });
    if (!span) return;
    run.span = span;
    this.#traced += 1;
  }

  /** Must see a message before the sample it ends is forgotten. */
  received(message: FromEngine): void {
    if (this.#traced === 0) return;
    switch (message.type) {
      case 'stepped':
        this.#stepped(message);
        return;
      case 'finished': {
        const { textMs, startedAt, denoisedAt, decodedAt } = message.timings;
        this.#addParts(message.sample, {
          'encode prompt': [startedAt - textMs, startedAt],
          'decode picture': [denoisedAt, decodedAt],
        });
        return;
      }
      case 'transcribed': {
        const { encodedAt, startedAt, decodedAt } = message.timings;
        this.#addParts(message.sample, {
          'encode window': [0, encodedAt],
          'decode window': [startedAt, decodedAt],
        });
        return;
      }
      case 'answered': {
        const { tokenizeMs, startedAt, endedAt } = message.timings;
        this.#addParts(message.sample, {
          tokenize: [0, Math.min(tokenizeMs, startedAt)],
          'run texts': [startedAt, endedAt],
        });
        return;
      }
      case 'transformed': {
        const { startedAt, endedAt } = message.timings;
        this.#addParts(message.sample, { 'transform picture': [startedAt, endedAt] });
        return;
      }
    }
  }

  /** `end` is the end that this worker wrote; undefined when it wrote none. */
  ended({ span, stopReason }: JobRun, end: JobState | undefined): void {
    if (!span) return;
    this.#traced -= 1;
    span.set({ 'lehr.job.outcome': end ?? stopReason?.kind ?? 'lost' });
    span.end({ error: stopReason?.kind === 'failed' ? stopReason.code : undefined });
  }

  #stepped({ lane, rows, ms, samples }: SteppedMessage): void {
    const traced = samples.flatMap((sample) => {
      const span = this.#findSample(sample.id)?.run.span;
      return span ? [{ ...sample, span }] : [];
    });
    const endMs = this.#toUnix(this.#options.clock.monotonic());
    for (const { step, steps, span } of traced) {
      const mates = traced.filter((mate) => mate.span !== span).slice(0, MAX_LINKS);
      span.add('unet step', {
        startMs: endMs - ms,
        endMs,
        links: mates.map((mate) => mate.span.traceparent),
        attributes: {
          'lehr.step': step,
          'lehr.steps': steps,
          'lehr.batch.rows': rows,
          'lehr.batch.samples': samples.length,
          'lehr.lane': lane,
        },
      });
    }
  }

  #addParts(id: SampleId, parts: Parts): void {
    const submitted = this.#findSample(id);
    const span = submitted?.run.span;
    if (!span) return;
    const submittedAt = this.#toUnix(submitted.sample.submittedAt);
    for (const [name, [startAt, endAt]] of Object.entries(parts)) {
      const startMs = submittedAt + Math.max(0, startAt);
      span.add(name, { startMs, endMs: Math.max(startMs, submittedAt + endAt) });
    }
  }

  /** From this process's monotonic clock. */
  #toUnix(monotonicMs: number): number {
    const { clock } = this.#options;
    return clock.now() - clock.monotonic() + monotonicMs;
  }
}

/** Undefined when nothing is traced. */
export const jobSpans = (
  { tracing, ...parts }: Omit<JobSpansOptions, 'tracing'> & { readonly tracing?: Tracing | undefined },
  findSample: FindSample,
): JobSpans | undefined => tracing && new JobSpans({ ...parts, tracing }, findSample);
