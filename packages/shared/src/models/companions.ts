/** Models that the workers of another model must have open, too: one that classifies its pictures, and those that enlarge them. */
import { formatModelRef, type ModelRef, type Task } from '../contracts/group.ts';
import { companionsIn, type ModelVersion } from './models-schema.ts';
import type { ModelEntry, Registry } from './registry.ts';

/** The version of another model that a model uses (`name` or `name@version`): the one that is named, else the first with the most weight. */
export function companionRef({ models }: Pick<Registry, 'models'>, wanted: string): ModelRef {
  const [name, version] = wanted.split('@');
  const { versions } = models.find((each) => each.name === name) ?? { versions: [] };
  const [heaviest] = versions.toSorted((a, b) => b.weight - a.weight);
  return { name, version: version ?? heaviest?.version ?? '1' };
}

/** `name@version` of all companions of a model. */
export const companionsOf = (registry: Pick<Registry, 'models'>, model: ModelEntry): string[] =>
  model.task === 'diffusion'
    ? companionsIn(model).map(({ wanted }) => formatModelRef(companionRef(registry, wanted)))
    : [];

export interface OfferedVersion {
  readonly model: ModelEntry;
  readonly version: ModelVersion;
  /** `name@version`. */
  readonly ref: string;
}

/** What workers of these tasks open: every version of the models of the tasks, and their companions. */
export function versionsOf(registry: Pick<Registry, 'models'>, tasks: readonly Task[]): OfferedVersion[] {
  const own = registry.models.filter(({ task }) => tasks.includes(task));
  const companions = new Set(own.flatMap((model) => companionsOf(registry, model)));
  return registry.models.flatMap((model) =>
    model.versions
      .map((version) => ({
        model,
        version,
        ref: formatModelRef({ name: model.name, version: version.version }),
      }))
      .filter(({ ref }) => own.includes(model) || companions.has(ref)),
  );
}
