/** How long the parts of making a model ready took, and the memory that it takes, as a worker last measured it. */
import { z } from 'zod';
import { parsedStored } from '../base/other-versions.ts';
import { LOAD_STAGES, type LoadStage } from '../contracts/queue.ts';
import type { Keys, Redis } from '../redis/index.ts';

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

/** `model` is `name@version`. */
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
