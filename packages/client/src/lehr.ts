/** The client: creates, follows and cancels jobs; lists models, queues, keys and the audit log. */

import { type ActionCalls, actionCalls } from './action-calls.ts';
import {
  type KeyCalls,
  keyCalls,
  type OperationCalls,
  operationCalls,
  type PauseCalls,
  pauseCalls,
  type RolloutCalls,
  rolloutCalls,
} from './admin-calls.ts';
import { type BatchCalls, batchCalls } from './batch-calls.ts';
import { Deadline } from './deadline.ts';
import { type FollowedEvent, type FollowOptions, followJob } from './follow.ts';
import { isOver, succeeded, waitForEnd } from './job-end.ts';
import { withResult } from './large-result.ts';
import { LehrError } from './lehr-error.ts';
import type {
  AuditOptions,
  ChartOptions,
  LehrOptions,
  ListOptions,
  PageOptions,
  RetryOptions,
  SubmitOptions,
  SucceededJob,
  UploadOptions,
  UsageOptions,
  WaitOptions,
} from './lehr-options.ts';
import { RETRY_POLICY } from './retry.ts';
import { type ScheduleCalls, scheduleCalls } from './schedule-calls.ts';
import { type CallOptions, Transport } from './transport.ts';
import type {
  Activity,
  AuditEntry,
  ChartList,
  Delivery,
  DeliveryLog,
  Image,
  Job,
  JobList,
  JobOutputs,
  JobRequest,
  Model,
  QueueList,
  File as UploadedFile,
  Usage,
} from './wire.ts';

const TIMEOUT_MS = 30_000;

export class Lehr {
  readonly #transport: Transport;
  /** Keys of all tenants. Needs a key with the scope `admin`. */
  readonly keys: KeyCalls;
  /** What operators read of the whole installation. Needs a key with the scope `admin`. */
  readonly operations: OperationCalls;
  /** Which version of a model its jobs get while a new one is tried. Needs a key with the scope `admin`. */
  readonly rollouts: RolloutCalls;
  readonly pauses: PauseCalls;
  /** Many requests by one call. */
  readonly batches: BatchCalls;
  /** Jobs that are made again and again. */
  readonly schedules: ScheduleCalls;
  /** What is done to all jobs that match a filter. */
  readonly actions: ActionCalls;

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
    this.keys = keyCalls(this.#transport);
    this.operations = operationCalls(this.#transport);
    this.rollouts = rolloutCalls(this.#transport);
    this.pauses = pauseCalls(this.#transport);
    this.batches = batchCalls(this.#transport, options.timeoutMs ?? TIMEOUT_MS);
    this.schedules = scheduleCalls(this.#transport);
    this.actions = actionCalls(this.#transport);
  }

  /**
   * Creates a job. Returns as soon as the job is stored, or with `wait` when it has ended. A retry after a lost answer does not
   * create a second job.
   */
  async submit(request: JobRequest, options: SubmitOptions = {}): Promise<Job> {
    const { wait = false, signal } = options;
    // A key promises the job of the first request to a retry, and so needs a record.
    const needsNoRecord = wait && 'durability' in request && request.durability === 'none';
    const idempotencyKey = options.idempotencyKey ?? (needsNoRecord ? undefined : crypto.randomUUID());
    const deadline = new Deadline(options);
    const holdS = wait ? deadline.holdS : 0;
    const job = await this.#transport.call(
      'post',
      '/v1/jobs',
      {
        query: { wait: holdS || undefined },
        header: { 'idempotency-key': idempotencyKey },
        body: request,
      },
      { idempotent: true, signal, holdMs: holdS * 1000 },
    );
    return wait && !isOver(job) ? waitForEnd(this.#transport, job.id, deadline, signal) : job;
  }

  /**
   * Creates a job and waits until it has succeeded. A result that is too large for the job is fetched (`outputs`). Throws LehrError with
   * the job's code when it ends in another state.
   */
  async run(request: JobRequest, options: Omit<SubmitOptions, 'wait'> = {}): Promise<SucceededJob> {
    const job = succeeded(await this.submit(request, { ...options, wait: true }));
    return { ...job, output: await this.outputs(job, options) };
  }

  /**
   * Returns the outputs of a job that has succeeded, with the result of texts that is too large for the job and is only linked there.
   * The link is signed, so the key is not sent. Throws LehrError `gone` when it has expired: get the job again for a new one.
   */
  async outputs(job: Job, { signal }: CallOptions = {}): Promise<JobOutputs> {
    const { output } = succeeded(job);
    if (output.result_url === undefined) return output;
    const json = await this.#transport.fetch(
      output.result_url,
      () => ({ redirect: 'follow' }),
      { idempotent: true, signal },
      (response) => response.text(),
    );
    return withResult(output, json);
  }

  get(id: string, { signal }: CallOptions = {}): Promise<Job> {
    return this.#transport.call('get', '/v1/jobs/{id}', { path: { id } }, { idempotent: true, signal });
  }

  /** Returns the job when it has ended, in whatever state. */
  wait(id: string, options: WaitOptions = {}): Promise<Job> {
    return waitForEnd(this.#transport, id, new Deadline(options), options.signal);
  }

  /** Yields the job's events as they happen, until the job has ended. Reconnects after a broken connection and misses no event. */
  stream(id: string, options: FollowOptions = {}): AsyncGenerator<FollowedEvent, undefined> {
    return followJob(this.#transport, id, options);
  }

  /** Cancels a job. A running job ends at its next step; a job that has ended does not change. */
  cancel(id: string, { signal }: CallOptions = {}): Promise<Job> {
    return this.#transport.call(
      'post',
      '/v1/jobs/{id}/cancel',
      { path: { id } },
      { idempotent: true, signal },
    );
  }

  /**
   * Creates a new job from the input of one that has ended, with the same seed and version of the model. A workflow or a node is
   * a `conflict`.
   */
  retry(id: string, options: RetryOptions = {}): Promise<Job> {
    const { idempotencyKey = crypto.randomUUID(), signal } = options;
    return this.#transport.call(
      'post',
      '/v1/jobs/{id}/retry',
      { path: { id }, header: { 'idempotency-key': idempotencyKey } },
      { idempotent: true, signal },
    );
  }

  /**
   * Deletes a job that has ended, with its outputs. A job that has not ended is canceled and returned instead: delete it again
   * when it has ended.
   */
  delete(id: string, { signal }: CallOptions = {}): Promise<Job | undefined> {
    return this.#transport.call(
      'delete',
      '/v1/jobs/{id}',
      { path: { id } },
      { idempotent: true, notFoundIsSuccess: true, signal },
    );
  }

  /** Returns the webhook events of a job and the attempts to deliver them. Both lists are empty for a job without a webhook. */
  deliveries(id: string, { signal }: CallOptions = {}): Promise<DeliveryLog> {
    return this.#transport.call(
      'get',
      '/v1/jobs/{id}/webhook',
      { path: { id } },
      { idempotent: true, signal },
    );
  }

  /** Sends the last webhook event of a job again, with the same id and bytes. A job without an event is a `conflict`. */
  redeliver(id: string, { signal }: CallOptions = {}): Promise<Delivery> {
    return this.#transport.call(
      'post',
      '/v1/jobs/{id}/webhook/redeliver',
      { path: { id } },
      { idempotent: true, signal },
    );
  }

  /** Yields your jobs, newest first, and requests pages as they are needed. `limit` is the size of a page. */
  async *list(options: ListOptions = {}): AsyncGenerator<Job, undefined> {
    let cursor: string | undefined;
    do {
      const page = await this.page({ ...options, cursor });
      yield* page.data;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Returns one page of `list`. */
  page({ signal, ...query }: PageOptions = {}): Promise<JobList> {
    return this.#transport.call('get', '/v1/jobs', { query }, { idempotent: true, signal });
  }

  async models({ signal }: CallOptions = {}): Promise<readonly Model[]> {
    return (await this.#transport.call('get', '/v1/models', {}, { idempotent: true, signal })).data;
  }

  /** Returns the length of each queue and the number of workers that serve it. */
  queues({ signal }: CallOptions = {}): Promise<QueueList> {
    return this.#transport.call('get', '/v1/queues', {}, { idempotent: true, signal });
  }

  /** Returns what Lehr is doing now: workers, running batches and who waits. It changes at most once a second. */
  activity({ signal }: CallOptions = {}): Promise<Activity> {
    return this.#transport.call('get', '/v1/activity', {}, { idempotent: true, signal });
  }

  /** Returns the main metrics over time, with a key of the scope `admin`. They change at most every five seconds. */
  charts({ signal, range }: ChartOptions = {}): Promise<ChartList> {
    return this.#transport.call('get', '/v1/charts', { query: { range } }, { idempotent: true, signal });
  }

  /** Returns the jobs and the device time of a range of days, and what waits now: of your tenant; with the scope `admin`, of all. */
  usage({ signal, ...query }: UsageOptions = {}): Promise<Usage> {
    return this.#transport.call('get', '/v1/usage', { query }, { idempotent: true, signal });
  }

  /** As `usage`: the days as a table for spreadsheets. */
  async usageCsv({ signal, ...asked }: UsageOptions = {}): Promise<string> {
    const query = { ...asked, format: 'csv' } as const;
    const { response, timeout } = await this.#transport.open('/v1/usage', { query }, TIMEOUT_MS, signal);
    return response.text().finally(() => timeout.end());
  }

  /**
   * Returns the bytes of an output, checked against its sha256. The link is signed, so the key is not sent. Throws LehrError
   * `gone` when the link has expired: get the job again for a new one.
   */
  download(
    { url, sha256 }: Pick<Image, 'url' | 'sha256'>,
    { signal }: CallOptions = {},
  ): Promise<Uint8Array> {
    return this.#transport.fetch(
      url,
      () => ({ redirect: 'follow' }),
      { idempotent: true, signal },
      async (response) => {
        const bytes = new Uint8Array(await response.arrayBuffer());
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
        const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
        if (found === sha256) return bytes;
        throw new LehrError('bad-answer', `The output has the sha256 ${found}, expected ${sha256}.`);
      },
    );
  }

  /** Uploads a file for jobs to read, such as a recording. Its `urls.get` is a job's `audio`. It is deleted at `expires_at`. */
  async upload(content: Blob | Uint8Array<ArrayBuffer>, options: UploadOptions = {}): Promise<UploadedFile> {
    const { name = 'file', signal } = options;
    const blob = content instanceof Blob ? content : new Blob([content]);
    const body = (): FormData => {
      const form = new FormData();
      form.append('content', blob, name);
      return form;
    };
    const file = await this.#transport.call('post', '/v1/files', { body }, { idempotent: true, signal });
    // Only a file without a purpose comes in this form.
    return file as UploadedFile;
  }

  /** Yields the audit log, newest first, and requests pages as they are needed. Needs a key with the scope `admin`. */
  async *audit({ signal, ...filter }: AuditOptions = {}): AsyncGenerator<AuditEntry, undefined> {
    let cursor: string | undefined;
    do {
      const query = { ...filter, cursor };
      const page = await this.#transport.call('get', '/v1/audit', { query }, { idempotent: true, signal });
      yield* page.data;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }
}

function baseOf(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/+$/, '');
  throw new LehrError(
    'invalid-request',
    `The url is ${JSON.stringify(url)}, expected an address such as https://lehr.example.`,
  );
}
