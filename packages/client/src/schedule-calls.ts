/** Schedules: jobs that are made again and again. */
import type { CallOptions, Transport } from './transport.ts';
import type { Schedule, ScheduleChange, ScheduleRequest } from './wire.ts';

export type ScheduleCalls = ReturnType<typeof scheduleCalls>;

export const scheduleCalls = (transport: Transport) => ({
  /** Its jobs are made with the key of this client. */
  create: (body: ScheduleRequest, { signal }: CallOptions = {}): Promise<Schedule> =>
    transport.call('post', '/v1/schedules', { body }, { idempotent: false, signal }),

  list: async ({ signal }: CallOptions = {}): Promise<readonly Schedule[]> =>
    (await transport.call('get', '/v1/schedules', {}, { idempotent: true, signal })).data,

  get: (id: string, { signal }: CallOptions = {}): Promise<Schedule> =>
    transport.call('get', '/v1/schedules/{id}', { path: { id } }, { idempotent: true, signal }),

  /** What is left out stays; `paused` pauses it, or lets it go on. */
  change: (id: string, body: ScheduleChange, { signal }: CallOptions = {}): Promise<Schedule> =>
    transport.call('patch', '/v1/schedules/{id}', { path: { id }, body }, { idempotent: true, signal }),

  /** Its jobs stay. */
  delete: async (id: string, { signal }: CallOptions = {}): Promise<void> => {
    await transport.call(
      'delete',
      '/v1/schedules/{id}',
      { path: { id } },
      { idempotent: true, notFoundIsSuccess: true, signal },
    );
  },
});
