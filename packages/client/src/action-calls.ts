/** Actions on all jobs that match a filter. */
import type { CallOptions, Transport } from './transport.ts';
import type { JobAction, JobActionCount, JobActionRequest } from './wire.ts';

export type ActionCalls = ReturnType<typeof actionCalls>;
type Request = Omit<JobActionRequest, 'dry_run'>;

const PATH = '/v1/job-actions';

export const actionCalls = (transport: Transport) => ({
  /** How many jobs it would come to. */
  count: (body: Request, { signal }: CallOptions = {}): Promise<JobActionCount> =>
    transport.call(
      'post',
      PATH,
      { body: { ...body, dry_run: true } },
      { idempotent: true, signal },
    ) as Promise<JobActionCount>,

  /** Begins it. Not retried: after a lost answer, a second one would begin. */
  create: (body: Request, { signal }: CallOptions = {}): Promise<JobAction> =>
    transport.call('post', PATH, { body }, { idempotent: false, signal }) as Promise<JobAction>,

  /** The latest ones, newest first. */
  list: async ({ signal }: CallOptions = {}): Promise<readonly JobAction[]> =>
    (await transport.call('get', PATH, {}, { idempotent: true, signal })).data,

  get: (id: string, { signal }: CallOptions = {}): Promise<JobAction> =>
    transport.call('get', `${PATH}/{id}`, { path: { id } }, { idempotent: true, signal }),

  /** What it has done stays done. */
  cancel: (id: string, { signal }: CallOptions = {}): Promise<JobAction> =>
    transport.call('post', `${PATH}/{id}/cancel`, { path: { id } }, { idempotent: true, signal }),
});
