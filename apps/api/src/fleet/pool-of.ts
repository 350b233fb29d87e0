/** Which pool has a model. */
import { covers, type Pool, type Registry } from '@lehr/shared';

/**
 * The pool whose workers have the model `name@version`; undefined when models.yaml does not have it, or no pool covers it. A model is in at
 * most one of the pools of pools.yaml.
 */
export function poolOf(
  pools: readonly Pool[],
  { models }: Pick<Registry, 'models'>,
  ref: string,
): Pool | undefined {
  const at = ref.indexOf('@');
  const [name, version] = [ref.slice(0, at), ref.slice(at + 1)];
  const entry = models.find((each) => each.name === name);
  if (!entry?.versions.some((each) => each.version === version)) return undefined;
  return pools.find((pool) => covers(pool, { task: entry.task, model: { name, version } }));
}
