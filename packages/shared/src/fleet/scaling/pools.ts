/** The pools of pools.yaml: which models the workers of each run, and how it is scaled. */
import { parse } from 'yaml';
import { z } from 'zod';
import { LehrError } from '../../base/errors.ts';
import { formatModelRef, type ModelRef, type Task } from '../../contracts/group.ts';
import type { Registry } from '../../models/registry.ts';
import { type Pool, PoolSchema, ScalePolicySchema } from './policy.ts';

/** One pool of all models, for an installation without pools.yaml. */
export const DEFAULT_POOL = 'all';
export const DEFAULT_POOLS: readonly Pool[] = [
  { name: DEFAULT_POOL, models: undefined, tasks: undefined, policy: ScalePolicySchema.parse({}) },
];

const PoolsFileSchema = z
  .strictObject({ pools: z.array(PoolSchema).min(1) })
  .superRefine(({ pools }, context) => {
    for (const [i, { name }] of pools.entries()) {
      if (pools.findIndex((each) => each.name === name) < i)
        context.addIssue({ code: 'custom', path: ['pools', i, 'name'], message: 'appears twice' });
    }
  });

/** What a job or a group needs of a worker. */
export interface Served {
  readonly task: Task;
  readonly model: ModelRef;
}

/** Whether the workers of the pool run jobs of this model version. */
export function covers({ models, tasks }: Pool, { task, model }: Served): boolean {
  if (models) return models.some((each) => each === model.name || each === formatModelRef(model));
  return tasks?.includes(task) ?? true;
}

/** Parses the text of pools.yaml. Throws `invalid-request` with every fault and its place. */
export function parsePools(text: string, registry: Registry): readonly Pool[] {
  let document: unknown;
  try {
    document = parse(text);
  } catch (cause) {
    throw new LehrError('invalid-request', `it is not YAML: ${(cause as Error).message}`, { cause });
  }
  const parsed = PoolsFileSchema.safeParse(document);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(
      ({ path, message }) => `${path.join('.') || 'the file'}: ${message}`,
    );
    throw new LehrError('invalid-request', faults.join('; '), { cause: parsed.error });
  }
  const { pools } = parsed.data;
  const faults = [...unknownModels(pools, registry), ...sharedModels(pools, registry)];
  if (faults.length > 0) throw new LehrError('invalid-request', faults.join('; '));
  return pools;
}

const offered = (registry: Registry): Served[] =>
  registry.models.flatMap(({ name, task, versions }) =>
    versions.map(({ version }) => ({ task, model: { name, version } })),
  );

function unknownModels(pools: readonly Pool[], registry: Registry): string[] {
  const known = offered(registry).flatMap(({ model }) => [model.name, formatModelRef(model)]);
  return pools.flatMap(({ name, models = [] }) =>
    models
      .filter((each) => !known.includes(each))
      .map((each) => `pool ${name}: models.yaml has no model ${JSON.stringify(each)}`),
  );
}

/** The work of a model counts for one pool. */
function sharedModels(pools: readonly Pool[], registry: Registry): string[] {
  return offered(registry).flatMap((served) => {
    const names = pools.filter((pool) => covers(pool, served)).map(({ name }) => name);
    return names.length > 1
      ? [`${formatModelRef(served.model)} is in several pools: ${names.join(', ')}`]
      : [];
  });
}
