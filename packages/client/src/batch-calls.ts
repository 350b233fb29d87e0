/** Batches: many requests by one call, and their answers. */
import { followBatch } from './follow.ts';
import type { CallOptions, Transport } from './transport.ts';
import type {
  Batch,
  BatchEstimate,
  BatchEvent,
  BatchLineList,
  BatchList,
  BatchRequest,
  Delivery,
} from './wire.ts';

export type BatchCalls = ReturnType<typeof batchCalls>;

/** A line of a batch's output, or of its errors. */
export interface BatchAnswer {
  readonly id: string;
  readonly custom_id: string;
  /** `body` is the job, or what the endpoint of the batch answers. */
  readonly response: {
    readonly status_code: number;
    readonly request_id: string;
    readonly body: unknown;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

export interface BatchPageOptions extends CallOptions {
  readonly limit?: number;
  /** The last batch of the page before. */
  readonly after?: string | undefined;
}

export interface BatchLinesOptions extends CallOptions {
  readonly limit?: number;
  readonly cursor?: string | undefined;
}

export const batchCalls = (transport: Transport, timeoutMs: number) => ({
  /** Not retried: after a lost answer, a retry would create a second batch. */
  create: async (body: BatchRequest, { signal }: CallOptions = {}): Promise<Batch> =>
    (await transport.call('post', '/v1/batches', { body }, { idempotent: false, signal })) as Batch,

  /** What the batch would take. Nothing is made. */
  estimate: async (body: BatchRequest, { signal }: CallOptions = {}): Promise<BatchEstimate> =>
    (await transport.call(
      'post',
      '/v1/batches',
      { body: { ...body, dry_run: true } },
      { idempotent: true, signal },
    )) as BatchEstimate,

  get: (id: string, { signal }: CallOptions = {}): Promise<Batch> =>
    transport.call('get', '/v1/batches/{id}', { path: { id } }, { idempotent: true, signal }),

  /** A page, newest first. */
  list: ({ signal, ...query }: BatchPageOptions = {}): Promise<BatchList> =>
    transport.call('get', '/v1/batches', { query }, { idempotent: true, signal }),

  /** A page of its lines in the order of the input, each with its job as it is now. */
  lines: (id: string, { signal, ...query }: BatchLinesOptions = {}): Promise<BatchLineList> =>
    transport.call('get', '/v1/batches/{id}/lines', { path: { id }, query }, { idempotent: true, signal }),

  /** Yields the batch each time that its counts have changed, at most once a second, and ends when it has ended. Reconnects. */
  stream: (id: string, options: CallOptions = {}): AsyncGenerator<BatchEvent, undefined> =>
    followBatch(transport, id, options),

  /** No more jobs are made, and those that have not ended are canceled. What is done is given out. */
  cancel: (id: string, { signal }: CallOptions = {}): Promise<Batch> =>
    transport.call('post', '/v1/batches/{id}/cancel', { path: { id } }, { idempotent: true, signal }),

  /** Creates a batch of the lines that did not succeed. Not retried, as `create`. */
  retry: (id: string, { signal }: CallOptions = {}): Promise<Batch> =>
    transport.call('post', '/v1/batches/{id}/retry', { path: { id } }, { idempotent: false, signal }),

  /** Sends the event of its end again, with the same id and bytes. */
  redeliver: (id: string, { signal }: CallOptions = {}): Promise<Delivery> =>
    transport.call(
      'post',
      '/v1/batches/{id}/webhook/redeliver',
      { path: { id } },
      { idempotent: true, signal },
    ),

  /** Yields the lines of an output or error file of a batch, in the order of its input, while they arrive. */
  async *answers(file: string, { signal }: CallOptions = {}): AsyncGenerator<BatchAnswer, undefined> {
    const opened = transport.open('/v1/files/{id}/content', { path: { id: file } }, timeoutMs, signal);
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of chunksOf(await opened)) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as BatchAnswer;
    }
  },

  /** Yields the bytes of a zip with all outputs of a batch that has ended, while they arrive. */
  async *zip(id: string, { signal }: CallOptions = {}): AsyncGenerator<Uint8Array, undefined> {
    yield* chunksOf(
      await transport.open('/v1/batches/{id}/results.zip', { path: { id } }, timeoutMs, signal),
    );
  },
});

async function* chunksOf({
  response,
  timeout,
}: Awaited<ReturnType<Transport['open']>>): AsyncGenerator<Uint8Array, undefined> {
  try {
    for await (const chunk of response.body ?? []) {
      timeout.restart();
      yield chunk;
    }
  } finally {
    timeout.end();
  }
}
