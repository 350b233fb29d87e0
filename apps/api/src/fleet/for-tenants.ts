/** Reports of workers without what only administrators may know: names of hosts and files. */
import type { WorkerStatus } from '@lehr/shared';

/** The id of a worker starts with the name of its host. */
export const forTenants = (worker: WorkerStatus): WorkerStatus => ({
  ...worker,
  ...(worker.audio_problem !== undefined && { audio_problem: 'This worker cannot decode audio.' }),
  unavailable: worker.unavailable?.map(({ ref }) => ({ ref, reason: 'A worker cannot open this model.' })),
  id: worker.id.replace(/^.*(?=-)/, 'worker') as WorkerStatus['id'],
});
