/** The calls that need a key with the scope `admin`, but for the audit log: keys, readings of operators, rollouts, pauses. */
import type { CallOptions, Transport } from './transport.ts';
import type {
  DeadLetters,
  Key,
  KeyChange,
  KeyRequest,
  NewKey,
  Pause,
  PauseRequest,
  Rollout,
  RolloutChange,
  RolloutRequest,
  Setting,
  Traffic,
} from './wire.ts';

export type KeyCalls = ReturnType<typeof keyCalls>;

export const keyCalls = (transport: Transport) => ({
  /** Only this answer contains the key itself. Not retried: after a lost answer, a retry would create a second key. */
  create: (body: KeyRequest, { signal }: CallOptions = {}): Promise<NewKey> =>
    transport.call('post', '/v1/keys', { body }, { idempotent: false, signal }),

  list: async ({ signal }: CallOptions = {}): Promise<readonly Key[]> =>
    (await transport.call('get', '/v1/keys', {}, { idempotent: true, signal })).data,

  /** Takes effect on every API process within a second. An absent limit stays unchanged; null removes it. */
  change: (id: string, body: KeyChange, { signal }: CallOptions = {}): Promise<Key> =>
    transport.call('patch', '/v1/keys/{id}', { path: { id }, body }, { idempotent: true, signal }),

  /** Every API process refuses the key within a second. */
  revoke: async (id: string, { signal }: CallOptions = {}): Promise<void> => {
    await transport.call(
      'delete',
      '/v1/keys/{id}',
      { path: { id } },
      { idempotent: true, notFoundIsSuccess: true, signal },
    );
  },
});

export type OperationCalls = ReturnType<typeof operationCalls>;

export const operationCalls = (transport: Transport) => ({
  /** The settings in force, without secrets. */
  settings: async ({ signal }: CallOptions = {}): Promise<readonly Setting[]> =>
    (await transport.call('get', '/v1/settings', {}, { idempotent: true, signal })).data,

  /** Failed jobs of all tenants, and what no process could read. */
  deadLetters: ({
    cursor,
    signal,
  }: CallOptions & { readonly cursor?: string | undefined } = {}): Promise<DeadLetters> =>
    transport.call('get', '/v1/dead-letters', { query: { cursor } }, { idempotent: true, signal }),

  /** Rates, errors and waits between API, queues, workers and receivers. It changes at most once a second. */
  traffic: ({ signal }: CallOptions = {}): Promise<Traffic> =>
    transport.call('get', '/v1/traffic', {}, { idempotent: true, signal }),
});

export type RolloutCalls = ReturnType<typeof rolloutCalls>;

export const rolloutCalls = (transport: Transport) => ({
  list: async ({ signal }: CallOptions = {}): Promise<readonly Rollout[]> =>
    (await transport.call('get', '/v1/rollouts', {}, { idempotent: true, signal })).data,

  get: (model: string, { signal }: CallOptions = {}): Promise<Rollout> =>
    transport.call('get', '/v1/rollouts/{model}', { path: { model } }, { idempotent: true, signal }),

  /** Tries a version with some of the callers, or changes the weights of the rollout that is under way. */
  deploy: (model: string, body: RolloutRequest, { signal }: CallOptions = {}): Promise<Rollout> =>
    transport.call('put', '/v1/rollouts/{model}', { path: { model }, body }, { idempotent: true, signal }),

  /** Promotes, rolls back, pauses or resumes. */
  change: (model: string, body: RolloutChange, { signal }: CallOptions = {}): Promise<Rollout> =>
    transport.call('patch', '/v1/rollouts/{model}', { path: { model }, body }, { idempotent: true, signal }),

  /** From then on the weights in models.yaml decide. */
  remove: async (model: string, { signal }: CallOptions = {}): Promise<void> => {
    await transport.call(
      'delete',
      '/v1/rollouts/{model}',
      { path: { model } },
      { idempotent: true, notFoundIsSuccess: true, signal },
    );
  },
});

export type PauseCalls = ReturnType<typeof pauseCalls>;

/** `target` is a model (`name` or `name@version`), `tenant:<name>`, or `*` for all models. */
export const pauseCalls = (transport: Transport) => ({
  list: async ({ signal }: CallOptions = {}): Promise<readonly Pause[]> =>
    (await transport.call('get', '/v1/pauses', {}, { idempotent: true, signal })).data,

  /** From then on no worker claims a job of it. */
  set: (target: string, body: PauseRequest, { signal }: CallOptions = {}): Promise<Pause> =>
    transport.call('put', '/v1/pauses/{target}', { path: { target }, body }, { idempotent: true, signal }),

  /** Resumes it. */
  end: async (target: string, { signal }: CallOptions = {}): Promise<void> => {
    await transport.call(
      'delete',
      '/v1/pauses/{target}',
      { path: { target } },
      { idempotent: true, notFoundIsSuccess: true, signal },
    );
  },
});
