/** Presents a model of the registry. */
import type { Model, ModelEntry } from '@lehr/shared';

/** `created`: Unix seconds. */
export function presentModel(entry: ModelEntry, created: number): Model {
  const model = {
    id: entry.name,
    object: 'model' as const,
    created,
    owned_by: 'lehr' as const,
    default: entry.default,
    versions: entry.versions.map(({ version, weight }) => ({ version, weight })),
  };
  if (entry.task === 'whisper') return { ...model, task: 'speech-to-text', limits: entry.limits };
  if (entry.task === 'text') {
    return { ...model, task: 'text', tasks: entry.tasks, limits: entry.limits };
  }
  const { family, defaults, limits, samplers } = entry;
  return { ...model, task: 'text-to-image', family, defaults, limits, samplers };
}
