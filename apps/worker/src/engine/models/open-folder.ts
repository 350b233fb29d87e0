/** Opens a model folder of any task, for the tools that check and prepare folders. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelEntry, Task } from '@lehr/shared';
import { type DiffusionOptions, openDiffusionModel } from '../diffusion/folder/diffusion-folder.ts';
import type { OpenedPart } from '../protocol/messages.ts';
import type { GraphReport, InferenceRuntime, LoadOptions } from '../runtime/runtime.ts';
import { openTextModel } from '../text/folder/text-folder.ts';
import { openTransformModel, type TransformOptions } from '../transform/folder/transform-folder.ts';
import { openWhisperModel } from '../whisper/folder/whisper-folder.ts';

/** What models.yaml says of a model that transforms pictures is read from the folder, when absent. */
export type FolderOptions = LoadOptions & TransformOptions & Pick<DiffusionOptions, 'adapters' | 'controls'>;

/** What models.yaml says of how the folder is opened. */
export function optionsOfEntry(model: ModelEntry): Omit<FolderOptions, 'providers'> {
  if (model.task === 'diffusion') return {};
  const variant = model.variant && { variant: model.variant };
  if (model.task !== 'transform') return { ...variant };
  const { result, scale, input, labels } = model;
  return { ...variant, result, scale, ...(input && { input }), ...(labels && { labels }) };
}

export interface OpenFolder {
  /** How rows share its runs, in a few words. */
  readonly batching: string;
  readonly graphs: readonly GraphReport[];
  /** Of a model that classifies pictures. */
  readonly labels?: readonly string[];
  /** Of a model for pictures: those of the options, each with the reason where it cannot be used. */
  readonly adapters?: readonly OpenedPart[];
  readonly controls?: readonly OpenedPart[];
  close(): Promise<void>;
}

/** The task of a folder, by the files that only folders of this task have. */
export function taskOfFolder(folder: string): Task {
  if (existsSync(join(folder, 'model_index.json'))) return 'diffusion';
  const has = (...names: string[]): boolean => names.some((name) => existsSync(join(folder, name)));
  // Such a model needs no file but its graph; what is no model at all is best explained by the configs that it lacks.
  if (!has('tokenizer.json', 'generation_config.json') && has('model.onnx', 'onnx')) return 'transform';
  return existsSync(join(folder, 'preprocessor_config.json')) ? 'whisper' : 'text';
}

/** Throws LehrError `model-unavailable` that names the file. */
export async function openFolder(
  task: Task,
  folder: string,
  runtime: InferenceRuntime,
  options: FolderOptions,
): Promise<OpenFolder> {
  if (task === 'transform') {
    const { reading, ...opened } = await openTransformModel(folder, runtime, options);
    const labels = reading.kind === 'class' && { labels: reading.labels };
    return { ...opened, ...labels, batching: 'tiles of one size' };
  }
  if (task === 'text') {
    return { ...(await openTextModel(folder, runtime, options)), batching: 'texts of similar length' };
  }
  const opened =
    task === 'diffusion'
      ? await openDiffusionModel(folder, runtime, options)
      : await openWhisperModel(folder, runtime, options);
  const batching = 'batching' in opened ? opened.batching : opened.decoder.batching;
  return {
    graphs: opened.graphs,
    ...('adapters' in opened && { adapters: opened.adapters.opened, controls: opened.controls }),
    close: () => opened.close(),
    batching: batching.mode === 'rows' ? 'step by step' : `aligned: ${batching.reason}`,
  };
}
