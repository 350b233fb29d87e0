/**
 * What the workers report every few seconds: which models they serve, how fast they run and how full they are. The API
 * estimates waits from it, and learns from it which models batch only when aligned.
 */
import { z } from 'zod';
import type { WorkerId } from './ids.ts';
import type { Keys, Redis } from './redis/index.ts';

export const WorkerStatusSchema = z.object({
  id: z.custom<WorkerId>((value) => typeof value === 'string'),
  started_at: z.number(),
  tasks: z.array(z.enum(['diffusion', 'whisper'])),
  draining: z.boolean(),
  /** Why the worker cannot decode audio, so that its speech jobs fail, in a sentence; absent while it can. */
  audio_problem: z.string().optional(),
  models: z.array(
    z.object({
      ref: z.string(),
      batching: z.enum(['step', 'aligned']),
      providers: z.record(z.string(), z.string()),
    }),
  ),
  /** Models that it should serve and cannot open, with the reason in a sentence. */
  unavailable: z.array(z.object({ ref: z.string(), reason: z.string() })).optional(),
  lanes: z.array(
    z.object({
      queue: z.string(),
      rows: z.int().nonnegative(),
      row_cap: z.int().positive(),
      samples: z.int().nonnegative(),
      /** Measured: rows times steps done per second, at the rows it ran with. */
      row_steps_per_s: z.number().nonnegative(),
    }),
  ),
});
export type WorkerStatus = z.output<typeof WorkerStatusSchema>;

/** A worker that has not reported for this long counts as gone. */
export const WORKER_TTL_MS = 10_000;

export async function reportWorker(redis: Redis, keys: Keys, status: WorkerStatus): Promise<void> {
  await redis
    .pipeline()
    .set(keys.worker(status.id), JSON.stringify(status), 'PX', WORKER_TTL_MS)
    .sadd(keys.workers, status.id)
    .exec();
}

export async function forgetWorker(redis: Redis, keys: Keys, id: WorkerId): Promise<void> {
  await redis.pipeline().del(keys.worker(id)).srem(keys.workers, id).exec();
}

/** How many workers reported within WORKER_TTL_MS. */
export async function countWorkers(redis: Redis, keys: Keys): Promise<number> {
  const ids = (await redis.smembers(keys.workers)) as WorkerId[];
  return ids.length === 0 ? 0 : redis.exists(ids.map((id) => keys.worker(id)));
}

/** The workers that reported within WORKER_TTL_MS; the ids of all others are removed. */
export async function readFleet(redis: Redis, keys: Keys): Promise<WorkerStatus[]> {
  const ids = (await redis.smembers(keys.workers)) as WorkerId[];
  if (ids.length === 0) return [];
  const reports = await redis.mget(ids.map((id) => keys.worker(id)));
  const silent = ids.filter((_, i) => reports[i] === null);
  if (silent.length > 0) await redis.srem(keys.workers, ...silent);
  return reports
    .filter((report) => report !== null)
    .map((report) => WorkerStatusSchema.parse(JSON.parse(report)));
}
