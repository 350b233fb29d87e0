/** The client: jobs asked for, followed, called off; models, queues and keys. */
import { type FollowedEvent, type FollowOptions, followJob } from './follow.ts';
import { LehrError } from './lehr-error.ts';
import { pause, RETRY_POLICY } from './retry.ts';
import { type CallOptions, Transport } from './transport.ts';
import type {
  Image,
  Job,
  JobList,
  JobOutputs,
  JobRequest,
  Key,
  KeyRequest,
  Model,
  NewKey,
  Operations,
  QueueList,
  File as UploadedFile,
} from './wire.ts';

export interface LehrOptions {
  /** Where Lehr is, such as `https://lehr.example`. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Tries after the first one, of calls that may be made twice. 6 unless said otherwise. */
  readonly maxRetries?: number | undefined;
  /** A server that asks to be left alone for longer is not waited for. 60 s. */
  readonly maxRetryAfterMs?: number | undefined;
  /** Longest silence of the server in ms before a try counts as failed; a held answer has its hold on top. 30 s. */
  readonly timeoutMs?: number | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** Told of each failed try that another one follows. */
  readonly onRetry?: ((error: LehrError) => void) | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** Stay until the job is over, whatever its end. */
  readonly wait?: boolean | undefined;
  /** With `wait`: longest wait in ms, then LehrError `timed-out`; the job goes on. */
  readonly timeoutMs?: number | undefined;
  /** The same request sent again with the same key, also by another process, gets the same job. Made up when absent. */
  readonly idempotencyKey?: string | undefined;
}

export interface WaitOptions extends CallOptions {
  /** Longest wait in ms, then LehrError `timed-out`; the job goes on. For ever unless said otherwise. */
  readonly timeoutMs?: number | undefined;
}

export interface UploadOptions extends CallOptions {
  /** For people; says nothing about what the file is. */
  readonly name?: string | undefined;
}

export type ListOptions = CallOptions & Omit<Operations['listJobs']['query'], 'cursor'>;
export type PageOptions = CallOptions & Operations['listJobs']['query'];
export type SucceededJob = Job & { readonly status: 'succeeded'; readonly output: JobOutputs };

const TIMEOUT_MS = 30_000;
/** Of one held answer: below the 60 s after which proxies give a request up. */
const HOLD_S = 30;
const MIN_HOLD_MS = 250;

export class Lehr {
  readonly #transport: Transport;

  constructor(options: LehrOptions) {
    const { maxRetries = RETRY_POLICY.maxRetries, maxRetryAfterMs = RETRY_POLICY.maxRetryAfterMs } = options;
    this.#transport = new Transport({
      url: baseOf(options.url),
      apiKey: options.apiKey,
      policy: { ...RETRY_POLICY, maxRetries, maxRetryAfterMs },
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      fetch: options.fetch ?? fetch,
      onRetry: options.onRetry,
    });
  }

  /**
   * Has a job made; answers as soon as it is stored, or with `wait` when it is over. Sent again after a lost answer, it is still
   * one job.
   */
  async submit(request: JobRequest, options: SubmitOptions = {}): Promise<Job> {
    const { wait = false, idempotencyKey = crypto.randomUUID(), signal } = options;
    const waiting = new Waiting(options);
    const holdS = wait ? waiting.holdS : 0;
    const job = await this.#transport.call(
      'createJob',
      { query: { wait: holdS || undefined }, headers: { 'idempotency-key': idempotencyKey }, body: request },
      { repeatable: true, signal, holdMs: holdS * 1000 },
    );
    return wait && !isOver(job) ? this.#untilOver(job.id, waiting, signal) : job;
  }

  /** Submits and waits for success. A job that ends in any other way is a LehrError with the job's own code. */
  async run(request: JobRequest, options: Omit<SubmitOptions, 'wait'> = {}): Promise<SucceededJob> {
    return succeeded(await this.submit(request, { ...options, wait: true }));
  }

  get(id: string, { signal }: CallOptions = {}): Promise<Job> {
    return this.#transport.call('getJob', { path: { id } }, { repeatable: true, signal });
  }

  /** The job once it is over, whatever its end. */
  wait(id: string, options: WaitOptions = {}): Promise<Job> {
    return this.#untilOver(id, new Waiting(options), options.signal);
  }

  /** What happens to the job, as it happens, until it is over. Survives broken connections without a gap. */
  stream(id: string, options: FollowOptions = {}): AsyncGenerator<FollowedEvent, undefined> {
    return followJob(this.#transport, id, options);
  }

  /** Calls a job off. One that runs ends at its next step; one that is over stays as it is. */
  cancel(id: string, { signal }: CallOptions = {}): Promise<Job> {
    return this.#transport.call('cancelJob', { path: { id } }, { repeatable: true, signal });
  }

  /**
   * Forgets a finished job with its outputs. One that is not over is called off instead and answered: delete it again when it
   * is over.
   */
  delete(id: string, { signal }: CallOptions = {}): Promise<Job | undefined> {
    return this.#transport.call(
      'deleteJob',
      { path: { id } },
      { repeatable: true, missingIsDone: true, signal },
    );
  }

  /** Your jobs, newest first; pages are asked for as they are needed. `limit` is the size of a page. */
  async *list(options: ListOptions = {}): AsyncGenerator<Job, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.page({ ...options, cursor });
      yield* page.data;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** One page of `list`. */
  page({ signal, ...query }: PageOptions = {}): Promise<JobList> {
    return this.#transport.call('listJobs', { query }, { repeatable: true, signal });
  }

  async models({ signal }: CallOptions = {}): Promise<readonly Model[]> {
    return (await this.#transport.call('listModels', {}, { repeatable: true, signal })).data;
  }

  /** How full the queues are, and who serves them. */
  queues({ signal }: CallOptions = {}): Promise<QueueList> {
    return this.#transport.call('listQueues', {}, { repeatable: true, signal });
  }

  /**
   * The bytes behind an output's link, checked against its sha256. The link is the right to read, so the key is not sent
   * along. Throws LehrError `gone` when the link has expired: ask for the job again.
   */
  download(
    { url, sha256 }: Pick<Image, 'url' | 'sha256'>,
    { signal }: CallOptions = {},
  ): Promise<Uint8Array> {
    return this.#transport.fetch(
      url,
      () => ({ redirect: 'follow' }),
      { repeatable: true, signal },
      async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
        const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
        if (found === sha256) return bytes;
        throw new LehrError('bad-answer', `The output has the sha256 ${found}, wanted ${sha256}.`);
      },
    );
  }

  /**
   * Stores a file for jobs to read, such as a recording: its `urls.get` is what goes into their `audio`. It is forgotten at
   * `expires_at`.
   */
  upload(content: Blob | Uint8Array<ArrayBuffer>, options: UploadOptions = {}): Promise<UploadedFile> {
    const { name = 'file', signal } = options;
    const blob = content instanceof Blob ? content : new Blob([content]);
    const body = (): FormData => {
      const form = new FormData();
      form.append('content', blob, name);
      return form;
    };
    return this.#transport.call('createFile', { body }, { repeatable: true, signal });
  }

  /** Keys of all tenants; only a key with the right `admin` may. */
  readonly keys = {
    /** The key itself is in the answer, this once. Not tried twice: a lost answer leaves a key nobody knows. */
    create: (body: KeyRequest, { signal }: CallOptions = {}): Promise<NewKey> =>
      this.#transport.call('createKey', { body }, { repeatable: false, signal }),

    list: async ({ signal }: CallOptions = {}): Promise<readonly Key[]> =>
      (await this.#transport.call('listKeys', {}, { repeatable: true, signal })).data,

    /** It works nowhere a second later. */
    revoke: async (id: string, { signal }: CallOptions = {}): Promise<void> => {
      await this.#transport.call(
        'revokeKey',
        { path: { id } },
        { repeatable: true, missingIsDone: true, signal },
      );
    },
  };

  async #untilOver(id: string, waiting: Waiting, signal: AbortSignal | undefined): Promise<Job> {
    for (;;) {
      const { holdS } = waiting;
      const askedAt = performance.now();
      const job = await this.#transport.call(
        'getJob',
        { path: { id }, query: { wait: holdS } },
        { repeatable: true, signal, holdMs: holdS * 1000 },
      );
      if (isOver(job)) return job;
      if (waiting.isOver) {
        throw new LehrError('timed-out', `${id} is still ${job.status}.`, { jobId: id, retryable: true });
      }
      // A server that stops answers what it holds at once.
      await pause(Math.max(0, MIN_HOLD_MS - (performance.now() - askedAt)), signal);
    }
  }
}

function baseOf(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/+$/, '');
  throw new LehrError('invalid-request', `The address is ${JSON.stringify(url)}, wanted https://...`);
}

/** What is left of a caller's time. */
class Waiting {
  readonly #until: number;

  constructor({ timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions) {
    this.#until = performance.now() + timeoutMs;
  }

  get holdS(): number {
    return Math.min(Math.max((this.#until - performance.now()) / 1000, 0), HOLD_S);
  }

  get isOver(): boolean {
    return performance.now() >= this.#until;
  }
}

/** Whether a job has its end. */
export const isOver = ({ status }: Pick<Job, 'status'>): boolean =>
  status !== 'queued' && status !== 'running';

/** The job, when it has succeeded; else throws LehrError with the code of what ended it. */
function succeeded(job: Job): SucceededJob {
  const { id, status, output, error } = job;
  if (status === 'succeeded' && output) return { ...job, status, output };
  if (error) {
    const { code, title, retryable } = error;
    throw new LehrError(code, error.detail, { title, retryable, jobId: id });
  }
  const code = status === 'expired' ? 'deadline-exceeded' : 'job-canceled';
  throw new LehrError(code, `${id} ended as ${status}.`, { jobId: id });
}
