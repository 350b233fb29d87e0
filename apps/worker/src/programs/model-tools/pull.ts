/** `lehr models pull`: fetches a model into the cache and enters it in models.yaml. */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FAMILY_TRAITS, readFamily, type Task, type TextJobType, withVersion } from '@lehr/shared';
import {
  evict,
  fetchModel,
  namesInCache,
  parseTyped,
  pinRevision,
  type SourceFields,
  sourceFields,
  sourceName,
} from '@lehr/shared/model-cache';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import { readTextConfig } from '../../engine/text/folder/text-config.ts';
import { openTransformModel } from '../../engine/transform/folder/transform-folder.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, readModelsFile, type ToolSettings } from './tool-settings.ts';
import { chooseRef } from './versions.ts';

export interface PullRequest {
  readonly source: string;
  readonly revision?: string | undefined;
  readonly variant?: string | undefined;
  /** `name` or `name@version`. */
  readonly as?: string | undefined;
  /** The folder that relative paths start from. */
  readonly cwd: string;
}

export async function pull(
  request: PullRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { signal } = new AbortController();
  const { cache } = settings;
  const typed = parseTyped(request.source, request.revision, request.cwd);
  const source = await pinRevision(typed, cache, signal);
  const { variant } = request;
  const fields: SourceFields = { ...sourceFields(source), ...(variant !== undefined && { variant }) };
  const ref = chooseRef(request.as ?? sourceName(source), fields, await readModelsFile(settings));
  const { folder, manifest, isNew } = await fetchModel(fields, { ...cache, signal, onEvent: report });
  const model = await defaultsOf(manifest.task, folder);
  await mkdir(dirname(settings.modelsFile), { recursive: true });
  await changeModelsFile(settings, (text) =>
    withVersion(text, { ref, task: manifest.task, ...fields, model }),
  );
  const registry = await readModelsFile(settings);
  if (cache.maxBytes !== undefined && registry) {
    // The model is complete and entered. What could not be deleted is tried again after the next fetch.
    await evict(cache.cache, cache.maxBytes, namesInCache(registry)).catch(() => {});
  }
  report({
    type: 'pulled',
    model: `${ref.name}@${ref.version}`,
    folder,
    bytes: manifest.files.reduce((sum, { bytes }) => sum + bytes, 0),
    revision: manifest.revision,
    is_new: isNew,
    models_file: settings.modelsFile,
  });
}

/** What models.yaml says of a new model, by its folder: an API may run where that is not. */
export async function defaultsOf(task: Task, folder: string): Promise<Record<string, unknown>> {
  if (task === 'transform') return transformDefaults(folder);
  if (task === 'text') return { ...(await textDefaults(folder)) };
  return task === 'diffusion' ? nativeDefaults(folder) : {};
}

/**
 * The fields of a new diffusion model in models.yaml that follow from its configs: an API may run where its folder is not.
 *
 * The family, and what of this model differs from its family's defaults.
 */
function nativeDefaults(folder: string): Record<string, unknown> {
  const detected = readFamily(folder);
  if (!detected) return {};
  const { family, guidance, side } = detected;
  const traits = FAMILY_TRAITS[family];
  const defaults = {
    ...(side !== undefined && side !== traits.defaults.width && { width: side, height: side }),
    // An LCM that takes no guidance scale, such as a merged LoRA, was distilled with it.
    ...(guidance === 'rows' && traits.guidance === 'embedded' && { guidance: 1 }),
  };
  return {
    family,
    ...(Object.keys(defaults).length > 0 && { defaults }),
    ...(side !== undefined &&
      side > traits.maxSide && { limits: { max_size: side, max_pixels: side * side } }),
  };
}

/** What the graph gives, which an API without the folder cannot know. Throws LehrError `model-unavailable` when it cannot be opened. */
async function transformDefaults(folder: string): Promise<Record<string, unknown>> {
  const { reading, close } = await openTransformModel(folder, onnxRuntime, { providers: ['cpu'] });
  await close();
  const isLarger = reading.kind === 'picture' && reading.scale !== 1;
  return { result: reading.kind, ...(isLarger && { scale: reading.scale }) };
}

const HEADS: readonly (readonly [ending: string, type: TextJobType])[] = [
  ['ForMaskedLM', 'fill-mask'],
  ['ForSequenceClassification', 'text-classification'],
  ['ForTokenClassification', 'token-classification'],
];

/**
 * The fields of a new text model in models.yaml: which types of jobs it answers, which an API without the folder cannot know.
 *
 * A model without a head embeds texts. Throws LehrError `model-unavailable` when its config cannot be read.
 */
async function textDefaults(folder: string): Promise<{ readonly tasks: readonly TextJobType[] }> {
  const { model } = await readTextConfig(join(folder));
  const [architecture = ''] = model.architectures ?? [];
  const head = HEADS.find(([ending]) => architecture.endsWith(ending));
  return { tasks: [head?.[1] ?? 'text-embedding'] };
}
