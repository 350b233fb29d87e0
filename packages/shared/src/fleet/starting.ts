/**
 * Workers that are starting, and how long starts took: a worker says at its start that it is on its way, and notes when it serves how
 * long that took, for each of its models. So the API can say of a job without a worker when one will be there.
 */
import { z } from 'zod';
import type { WorkerId } from '../base/ids.ts';
import { known, parsedStored } from '../base/other-versions.ts';
import type { Keys, Redis } from '../redis/index.ts';
import { WORKER_TTL_MS } from './fleet.ts';

const StartingWorkerSchema = z.object({
  id: z.custom<WorkerId>((value) => typeof value === 'string'),
  /** When its process began, ms since the epoch. */
  since: z.number(),
  /** The models (`name@version`) that it will serve. */
  models: known(z.string()),
});
export type StartingWorker = z.output<typeof StartingWorkerSchema>;

/** The parts of a start, in their order, ms each. `pull` is what models had to be fetched for. */
export const START_STAGES = ['process', 'connect', 'pull', 'open'] as const;
const ColdStartSchema = z.object({
  /** When the worker served, ms since the epoch. */
  at: z.number(),
  /** From the begin of its process until it served. */
  total_ms: z.number().nonnegative(),
  stages_ms: z.record(z.string(), z.number()).default({}),
});
export type ColdStart = z.output<typeof ColdStartSchema>;

/** Says that this worker starts; it counts until WORKER_TTL_MS after the last call. */
export async function reportStarting(redis: Redis, keys: Keys, worker: StartingWorker): Promise<void> {
  await redis
    .pipeline()
    .set(keys.startingWorker(worker.id), JSON.stringify(worker), 'PX', WORKER_TTL_MS)
    .sadd(keys.starting, worker.id)
    .exec();
}

/** The worker serves, with how long it took, or has given up. */
export async function endStarting(
  redis: Redis,
  keys: Keys,
  worker: StartingWorker,
  coldStart?: ColdStart,
): Promise<void> {
  const pipeline = redis.pipeline().del(keys.startingWorker(worker.id)).srem(keys.starting, worker.id);
  if (coldStart && worker.models.length > 0) {
    const text = JSON.stringify(coldStart);
    pipeline.hset(keys.coldStarts, ...worker.models.flatMap((model) => [model, text]));
  }
  await pipeline.exec();
}

export interface Starts {
  readonly starting: readonly StartingWorker[];
  /** The last start of a worker, by model (`name@version`). */
  readonly coldStarts: ReadonlyMap<string, ColdStart>;
}

/** Three commands, four when a worker is gone. */
export async function readStarts(redis: Redis, keys: Keys): Promise<Starts> {
  const [ids, measured] = await Promise.all([
    redis.smembers(keys.starting) as Promise<WorkerId[]>,
    redis.hgetall(keys.coldStarts),
  ]);
  const texts = ids.length > 0 ? await redis.mget(ids.map((id) => keys.startingWorker(id))) : [];
  const silent = ids.filter((_, i) => texts[i] === null);
  if (silent.length > 0) await redis.srem(keys.starting, ...silent);
  const coldStarts = Object.entries(measured).flatMap(([model, text]) => {
    const coldStart = parsedStored(ColdStartSchema, text);
    return coldStart ? [[model, coldStart] as const] : [];
  });
  return {
    starting: texts.flatMap((text) =>
      text === null ? [] : (parsedStored(StartingWorkerSchema, text) ?? []),
    ),
    coldStarts: new Map(coldStarts),
  };
}
