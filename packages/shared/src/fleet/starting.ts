/**
 * Workers that are starting, and how long starts took: a worker says at its start that it is on its way, and notes when it serves how
 * long that took, for each of its models. So the API can say of a job without a worker when one will be there.
 */
import { z } from 'zod';
import type { WorkerId } from '../base/ids.ts';
import { known, parsedStored } from '../base/other-versions.ts';
import { LOAD_STAGES, type LoadStage } from '../contracts/queue.ts';
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
  stages_ms: z.record(z.string(), z.number()),
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

const MeasuredSchema = z.object({
  /** Ms since the epoch. */
  at: z.number(),
  ms: z.number().nonnegative(),
  /** Of the stage `open`: the memory that the open model takes. */
  bytes: z.number().nonnegative().optional(),
});
type MeasuredStage = z.output<typeof MeasuredSchema>;
/** A stage that was never measured is absent: no worker had to fetch a model that was on its disk. */
export type ModelLoad = Partial<Record<LoadStage, MeasuredStage>>;

/**
 * How long the parts of making a model ready took, and the memory that it takes, as a worker last measured it.
 * `model` is `name@version`.
 */
export async function noteModelLoad(redis: Redis, keys: Keys, model: string, load: ModelLoad): Promise<void> {
  const fields = Object.entries(load).flatMap(([stage, measured]) => [
    `${model} ${stage}`,
    JSON.stringify(measured),
  ]);
  if (fields.length > 0) await redis.hset(keys.modelLoads, ...fields);
}

/** By model (`name@version`). */
export async function readModelLoads(redis: Redis, keys: Keys): Promise<ReadonlyMap<string, ModelLoad>> {
  const loads = new Map<string, ModelLoad>();
  for (const [field, text] of Object.entries(await redis.hgetall(keys.modelLoads))) {
    const [model, name] = field.split(' ');
    const stage = LOAD_STAGES.find((each) => each === name);
    const measured = parsedStored(MeasuredSchema, text);
    if (stage && measured) loads.set(model, { ...loads.get(model), [stage]: measured });
  }
  return loads;
}
