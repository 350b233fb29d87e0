/** A caller of the API whose submissions and readings are kept in a history. */
import { randomUUID } from 'node:crypto';
import { type Job, JobListSchema, JobSchema } from '../../packages/shared/src/index.ts';
import { type History, isEnded } from './history.ts';

export interface JobFields {
  /** Absent: a picture, with a prompt. */
  readonly type?: string;
  readonly input?: Record<string, unknown>;
  readonly webhook?: { readonly url: string; readonly events?: readonly string[] };
  readonly [field: string]: unknown;
}

export interface RecordedClientOptions {
  readonly url: () => string;
  readonly key: string;
  readonly history: History;
}

const REQUEST_LIMIT_MS = 60_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class RecordedClient {
  readonly #options: RecordedClientOptions;

  constructor(options: RecordedClientOptions) {
    this.#options = options;
  }

  get key(): string {
    return this.#options.key;
  }

  ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const { url, key } = this.#options;
    return fetch(`${url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
    });
  }

  /** Posts once. Returns the job's id, or undefined when it was refused or not answered. */
  submit(fields: JobFields = {}, key: string = randomUUID()): Promise<string | undefined> {
    const picture = { type: 'text-to-image', ...fields, input: { prompt: 'a red circle', ...fields.input } };
    const body = fields.type === undefined ? picture : fields;
    return this.#post('/v1/jobs', body, key, fields.webhook !== undefined);
  }

  /** Repeats an ended job that has no webhook, once, with the same results as `submit`. */
  retry(id: string): Promise<string | undefined> {
    return this.#post(`/v1/jobs/${id}/retry`, undefined, randomUUID(), false);
  }

  async #post(path: string, body: unknown, key: string, hasWebhook: boolean): Promise<string | undefined> {
    const { history } = this.#options;
    const sent = { key, at: Date.now(), hasWebhook };
    const began = performance.now();
    const took = (): number => Math.round(performance.now() - began);
    try {
      const response = await this.ask('POST', path, body, { 'idempotency-key': key });
      const text = await response.text();
      const { status } = response;
      // 200: an equal request made the job before, and it has ended.
      if (status !== 202 && status !== 200) {
        history.submitted({ ...sent, ms: took(), result: 'refused', status });
        return undefined;
      }
      const job = JobSchema.parse(JSON.parse(text));
      history.submitted({ ...sent, ms: took(), result: 'accepted', status, id: job.id });
      history.saw(job, 'answer');
      return job.id;
    } catch {
      history.submitted({ ...sent, ms: took(), result: 'unknown' });
      return undefined;
    }
  }

  /** Posts again with the same Idempotency-Key until the job is accepted. */
  async submitUntilAccepted(fields: JobFields = {}, key: string = randomUUID()): Promise<string> {
    for (;;) {
      const id = await this.submit(fields, key);
      if (id !== undefined) return id;
      await pause(100);
    }
  }

  submitMany(count: number, fieldsOf: (index: number) => JobFields = () => ({})): Promise<string[]> {
    return Promise.all(
      Array.from({ length: count }, (_, index) => this.submitUntilAccepted(fieldsOf(index))),
    );
  }

  /** Undefined when there is no such job. Rejects when the API does not answer, or with another status. */
  async read(id: string, waitS = 0): Promise<Job | undefined> {
    const response = await this.ask('GET', `/v1/jobs/${id}${waitS > 0 ? `?wait=${waitS}` : ''}`);
    const text = await response.text();
    if (response.status === 404) return undefined;
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    const job = JobSchema.parse(JSON.parse(text));
    this.#options.history.saw(job, 'answer');
    return job;
  }

  /** Waits through outages of the API until the job has ended; undefined when the job does not exist. */
  async ended(id: string, limitMs = 120_000): Promise<Job | undefined> {
    const endsAt = performance.now() + limitMs;
    let last = 'not read';
    while (performance.now() < endsAt) {
      try {
        const job = await this.read(id, 10);
        if (!job || isEnded(job)) return job;
        last = job.status;
      } catch (error) {
        last = String(error);
        await pause(200);
      }
    }
    throw new Error(`job ${id} has not ended after ${limitMs} ms: ${last}`);
  }

  /** Resolves when each of these jobs is, or has been, in this state. */
  async reached(ids: readonly string[], status: Job['status'], limitMs = 120_000): Promise<void> {
    const left = new Set(ids);
    const endsAt = performance.now() + limitMs;
    while (left.size > 0) {
      for (const id of left) {
        const job = await this.read(id);
        if (job?.status === status) left.delete(id);
        else if (!job || isEnded(job))
          throw new Error(`job ${id} is ${job?.status ?? 'gone'}, not ${status}: ${job?.error?.detail}`);
      }
      if (performance.now() > endsAt) throw new Error(`${[...left].join(', ')} are not ${status}`);
      if (left.size > 0) await pause(20);
    }
  }

  /** Ids of all jobs of the tenant. */
  async list(): Promise<string[]> {
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await this.ask('GET', `/v1/jobs?limit=100${cursor}`);
      if (page.status !== 200) throw new Error(`${page.status} ${await page.text()}`);
      const { data, next_cursor } = JobListSchema.parse(await page.json());
      ids.push(...data.map(({ id }) => id));
      if (next_cursor === null) return ids;
      cursor = `&cursor=${encodeURIComponent(next_cursor)}`;
    }
  }

  async cancel(id: string): Promise<number> {
    const response = await this.ask('POST', `/v1/jobs/${id}/cancel`);
    const text = await response.text();
    if (response.status === 200) this.#options.history.saw(JobSchema.parse(JSON.parse(text)), 'answer');
    return response.status;
  }

  /** Deletes an ended job with all that belongs to it: again while a node of it still runs, or the store fails. */
  async remove(id: string, limitMs = 60_000): Promise<void> {
    const endsAt = performance.now() + limitMs;
    for (;;) {
      const { status, body } = await this.ask('DELETE', `/v1/jobs/${id}`);
      await body?.cancel();
      if (status === 204 || status === 404) break;
      if (performance.now() > endsAt) throw new Error(`job ${id} cannot be deleted: ${status}`);
      await pause(100);
    }
    this.#options.history.deleted.add(id);
  }
}

export interface Load {
  /** Resolves when the last submission is answered. */
  stop(): Promise<void>;
}

/** Callers that submit jobs, one after the other each, with a pause in between. A refused job is not posted again. */
export function startLoad(
  client: RecordedClient,
  callers: number,
  pauseMs: number,
  fieldsOf: (index: number) => JobFields = () => ({}),
): Load {
  let isStopped = false;
  let count = 0;
  const submitAll = async (): Promise<void> => {
    while (!isStopped) {
      count += 1;
      await client.submit(fieldsOf(count));
      await pause(pauseMs);
    }
  };
  const running = Array.from({ length: callers }, submitAll);
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(running);
    },
  };
}
