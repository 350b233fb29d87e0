/** Presents a model of the registry. */
import { formatModelRef, type Model, type ModelEntry, type WorkerStatus } from '@lehr/shared';
import { fleetIndex } from '../fleet/fleet-index.ts';

/** `created`: Unix seconds. `fleet`: one reading of it; empty when it cannot be read. */
export function presentModel(entry: ModelEntry, created: number, fleet: readonly WorkerStatus[]): Model {
  const model = {
    id: entry.name,
    aliases: entry.aliases,
    object: 'model' as const,
    created,
    owned_by: 'lehr' as const,
    ...(entry.description !== undefined && { description: entry.description }),
    default: entry.default,
    versions: entry.versions.map(({ version, weight }) => ({ version, weight })),
  };
  if (entry.task === 'whisper') return { ...model, task: 'speech-to-text', limits: entry.limits };
  if (entry.task === 'text') {
    return { ...model, task: 'text', tasks: entry.tasks, limits: entry.limits };
  }
  const { family, defaults, samplers } = entry;
  const tokens = maxPromptTokens(entry, fleet);
  const limits = { ...entry.limits, ...(tokens !== undefined && { max_prompt_tokens: tokens }) };
  return { ...model, task: 'text-to-image', family, defaults, limits, samplers };
}

/** The smallest of the versions that are open: the caller may get any of them. */
function maxPromptTokens({ name, versions }: ModelEntry, fleet: readonly WorkerStatus[]): number | undefined {
  const known = versions.flatMap(
    ({ version }) => fleetIndex(fleet).maxPromptTokens(formatModelRef({ name, version })) ?? [],
  );
  return known.length > 0 ? Math.min(...known) : undefined;
}
