/** Presents a job's record as a prediction, in answers and in webhooks. */
import type { Clock, Job, JobId, Progress } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';
import type { EventLinks } from '../../follow/event-links.ts';
import type { Presenter } from '../../jobs/present.ts';
import { isEnd, type Renderer } from '../../webhooks/event-message.ts';
import type { Prediction } from './prediction-contract.ts';
import { shownInput } from './prediction-input.ts';
import { OWNER } from './wanted-model.ts';

export interface PredictionsViewOptions {
  readonly presenter: Presenter;
  readonly eventLinks: EventLinks;
  readonly clock: Pick<Clock, 'now'>;
  readonly outputTtlMs: number;
}

export class PredictionsView {
  readonly #options: PredictionsViewOptions;

  constructor(options: PredictionsViewOptions) {
    this.#options = options;
  }

  /**
   * The prediction as GET and webhooks show it. Clients poll often, so only a succeeded job costs more than its record: its
   * outputs are presented. `brief`, for lists, leaves out what must be read from the store.
   */
  async of(record: JobRecord, { brief = false } = {}): Promise<Prediction> {
    const { presenter, clock, outputTtlMs } = this.#options;
    const isDone = record.state === 'succeeded';
    const isRemoved = isDone && record.finished_at + outputTtlMs <= clock.now();
    return {
      id: predictionIdOf(record.id),
      model: `${OWNER}/${record.model.replace(/@[^+]*/g, '')}`,
      version: record.model,
      status: statusOf(record),
      input: shownInput(record, (path) => presenter.url(path)),
      output:
        isDone && !isRemoved ? outputOf(record.type, (await presenter.job(record, { brief })).output) : null,
      error: record.state === 'failed' ? record.error.detail : null,
      logs: record.state === 'running' && record.progress ? progressLine(record.progress) : '',
      source: 'api',
      data_removed: isRemoved,
      created_at: iso(record.created_at),
      started_at: 'started_at' in record && record.started_at !== undefined ? iso(record.started_at) : null,
      completed_at: 'finished_at' in record ? iso(record.finished_at) : null,
      ...(record.deadline_at !== undefined && { deadline: iso(record.deadline_at) }),
      ...(isDone && { metrics: metricsOf(record.metrics) }),
      urls: this.#urls(record),
    };
  }

  /**
   * The answer to a creation. Published clients take `processing` in it for the end and return without output, so a running
   * prediction is `starting` here.
   */
  async created(record: JobRecord): Promise<Prediction> {
    const prediction = await this.of(record);
    return prediction.status === 'processing' ? { ...prediction, status: 'starting' } : prediction;
  }

  #urls({ id, created_at }: JobRecord): Prediction['urls'] {
    const { presenter, eventLinks } = this.#options;
    const get = presenter.url(`/v1/predictions/${predictionIdOf(id)}`);
    const { search } = new URL(eventLinks.to(id, created_at));
    return {
      get,
      cancel: `${get}/cancel`,
      web: presenter.url(`/jobs/${id}`),
      stream: presenter.url(`/streams/${predictionIdOf(id)}${search}`),
    };
  }
}

/** Many receivers refuse larger bodies; GET has what is left out. */
const MAX_BODY_BYTES = 20_000;

/** Webhooks in Replicate's dialect: the prediction as GET shows it, less what makes it too large. */
export function replicateRenderer(options: PredictionsViewOptions): Renderer {
  const view = new PredictionsView(options);
  return {
    retries: isEnd,
    render: async (record) => {
      const whole = await view.of(record);
      return fits(whole) ? whole : fitted(await view.of(record, { brief: true }));
    },
  };
}

const fits = (prediction: Prediction): boolean =>
  Buffer.byteLength(JSON.stringify(prediction)) <= MAX_BODY_BYTES;

function fitted(prediction: Prediction): Prediction {
  let { input, output } = prediction;
  const isSmall = () => fits({ ...prediction, input, output });
  if (!isSmall() && typeof output === 'object' && output !== null && 'segments' in output) {
    output = { ...output, segments: undefined };
  }
  if (!isSmall()) input = {};
  if (!isSmall()) output = null;
  return { ...prediction, input, output };
}

/** Never `aborted`: published clients do not know it and would wait forever. */
function statusOf(record: JobRecord): Prediction['status'] {
  switch (record.state) {
    case 'scheduled':
      return 'starting';
    case 'queued':
      // Waiting for another attempt: a status does not go back to `starting`.
      return record.attempt > 0 ? 'processing' : 'starting';
    case 'running':
      return 'processing';
    case 'succeeded':
    case 'failed':
      return record.state;
    case 'canceled':
    case 'expired':
      return 'canceled';
  }
}

function outputOf(type: Job['type'], output: Job['output']): unknown {
  const images = output?.images?.map(({ url }) => url) ?? [];
  switch (type) {
    case 'text-to-image':
      return images;
    case 'picture-transform':
      return output?.labels ? { labels: output.labels } : images;
    case 'speech-to-text': {
      const { text, language, duration, segments } = output ?? {};
      return { text, language, duration, segments };
    }
    case 'text-embedding':
    case 'text-classification':
    case 'fill-mask':
    case 'token-classification':
      return output;
    case 'speech-to-image':
    case 'workflow':
      return { text: output?.text, images };
  }
}

const metricsOf = ({ run_ms, total_ms }: { run_ms: number; total_ms: number }) => ({
  predict_time: Math.max(1, run_ms) / 1000,
  total_time: Math.max(1, total_ms) / 1000,
});

const iso = (ms: number): string => new Date(ms).toISOString();

const PREFIX = 'job_';

export const predictionIdOf = (job: JobId): string => job.slice(PREFIX.length);
/** Does not check the id; findJob does. */
export const jobIdOf = (prediction: string): string => `${PREFIX}${prediction}`;

const BAR_LENGTH = 20;

/** Progress as tqdm prints it, which Replicate's clients parse in `logs`: ` 50%|##########          | 10/20`. */
export function progressLine({ fraction, step, steps }: Progress): string {
  const percent = `${Math.floor(fraction * 100)}`.padStart(3);
  const bar = '#'.repeat(Math.round(fraction * BAR_LENGTH)).padEnd(BAR_LENGTH);
  return `${percent}%|${bar}| ${step}/${steps}\n`;
}
