/** Checks the file of an adapter with the graphs of a model, before it is entered in models.yaml: what an engine will say of it, and more. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readOptionalConfig } from '../../folder/config-file.ts';
import { readGraph } from '../../runtime/external-data.ts';
import { namedWeights } from '../weights/layouts.ts';
import { openSafetensors, refusedFile, type WeightsFile } from '../weights/weights-file.ts';
import { AdapterValuesError, addAdapters } from './add-adapters.ts';
import { MAX_RANKS, tooManyRanks } from './model-adapters.ts';
import { type NamedAdapter, planAdapters } from './plan-adapters.ts';
import { type AdapterFile, readAdapter } from './read-adapter.ts';
import { triggerWords } from './trigger-words.ts';

export interface CheckedAdapter {
  /** The largest of its layers. */
  readonly rank: number;
  /** How many layers of the model it changes. */
  readonly layers: number;
  /** Names of tensors that change none. */
  readonly unused: readonly string[];
  /** Whether the file beside it, adapter_config.json, says how strong it is. */
  readonly isPeft: boolean;
  /** Words that it was trained with, as far as the file says so. */
  readonly trigger: readonly string[];
}

export interface AdaptedModel {
  readonly folder: string;
  /** As users know it. */
  readonly name: string;
}

/** Of a model: the folders of the graphs that adapters change. */
export const ADAPTED_PARTS = ['unet', 'text_encoder', 'text_encoder_2'] as const;

const UnetSchema = z.object({
  layers_per_block: z.union([z.int().positive(), z.array(z.int().positive()).min(1)]).default(2),
  cross_attention_dim: z.union([z.int(), z.array(z.int())]).optional(),
});

/** `others` are the adapters that the model has. Throws LehrError `invalid-request` with the reason, for a file that cannot be one of them. */
export async function checkAdapter(
  path: string,
  model: AdaptedModel,
  others: readonly { readonly path: string }[],
): Promise<CheckedAdapter> {
  const { layersPerBlock, promptWidth } = await readUnetConfig(model.folder);
  const trigger = readWhole(path, model);
  const adapter = { ...readAdapter(path, layersPerBlock), name: model.name };
  try {
    refuseOtherFamily(adapter, promptWidth, model);
    const used = placesIn(adapter, model);
    if (used.size === 0) throw refusedFile(path, `has no layer that ${model.name} has`);
    const ranks = others.reduce((sum, other) => sum + rankOf(other.path, layersPerBlock), 0);
    if (ranks + adapter.rank > MAX_RANKS) throw refusedFile(path, tooManyRanks(adapter.rank, ranks));
    const unplaced = adapter.modules.filter(({ part, module }) => !used.has(`${part}/${module}`));
    const unused = [...unplaced.flatMap(({ down, up }) => [down.name, up.name]), ...adapter.unknown];
    const isPeft = adapter.modules.some(({ down }) => down.name.startsWith('base_model.model.'));
    return { rank: adapter.rank, layers: used.size, unused, trigger, isPeft };
  } finally {
    adapter.close();
  }
}

export async function readUnetConfig(folder: string) {
  const unet = await readOptionalConfig(join(folder, 'unet/config.json'), UnetSchema);
  return {
    layersPerBlock: [unet.layers_per_block].flat()[0],
    /** How many values a token of a prompt has. */
    promptWidth: [unet.cross_attention_dim].flat()[0],
  };
}

/** What the file says beside its matrices. Throws for a model, which is no adapter. */
function readWhole(path: string, { name }: AdaptedModel): string[] {
  const file = openSafetensors(path);
  try {
    if (isModel(file))
      throw refusedFile(
        path,
        `is a model or a part of one, and no adapter; lehr models import FILE --like ${name} makes a version of it`,
      );
    return triggerWords(file.metadata);
  } finally {
    file.close();
  }
}

const SHAPES = { layersPerBlock: 2, vaeLevels: 4, hasSecondEncoder: false, textWidth: undefined };
/** What the names of all adapters have somewhere. */
const OF_ADAPTER = /lora|lycoris|hada|lokr|oft_|dora|ia3|\.diff(?:_b)?$/i;

const isModel = ({ tensors }: WeightsFile): boolean =>
  ![...tensors.keys()].some((name) => OF_ADAPTER.test(name)) &&
  namedWeights(tensors, SHAPES).weights.length > 0;

/** The layers that it changes, as `part/module`. Reads all its values. */
function placesIn(adapter: NamedAdapter, { folder }: AdaptedModel): Set<string> {
  const used = new Set<string>();
  for (const part of ADAPTED_PARTS) {
    const graph = join(folder, part, 'model.onnx');
    if (!existsSync(graph) || !adapter.modules.some((each) => each.part === part)) continue;
    const stored = readGraph({ path: graph });
    const plan = planAdapters(stored, part, [adapter]);
    for (const problem of plan.problems.values()) throw refusedFile(adapter.path, problem);
    for (const { shares } of plan.modules)
      for (const { lowRank } of shares) used.add(`${part}/${lowRank.module}`);
    if (plan.modules.length > 0) readValues(adapter, () => addAdapters(stored, plan));
  }
  return used;
}

function readValues({ path }: AdapterFile, add: () => ReturnType<typeof addAdapters>): void {
  try {
    for (const { load } of add()) load();
  } catch (error) {
    throw error instanceof AdapterValuesError ? refusedFile(path, error.message) : error;
  }
}

/** By how many values a token of a prompt has. */
const FAMILIES: ReadonlyMap<number, string> = new Map([
  [768, 'Stable Diffusion 1'],
  [1024, 'Stable Diffusion 2'],
  [1280, "SDXL's refiner"],
  [2048, 'Stable Diffusion XL'],
]);
/** Layers of models that draw without a UNet. */
const TRANSFORMER =
  /(?:double|single|joint)_(?:stream_)?(?:transformer_)?blocks|^transformer[._]|^lora_transformer_/;

function refuseOtherFamily(
  { path, modules, unknown }: AdapterFile,
  width: number | undefined,
  { name }: AdaptedModel,
): void {
  const names = [...modules.map(({ down }) => down.name), ...unknown];
  if (names.some((each) => TRANSFORMER.test(each)))
    throw refusedFile(
      path,
      `is for a model that draws with a transformer, such as FLUX or Stable Diffusion 3, and ${name} has a UNet`,
    );
  const ofPrompt = modules.find(({ part, module }) => part === 'unet' && /attn2_to_[kv]$/.test(module));
  const wanted = ofPrompt?.down.shape[1];
  if (wanted === undefined || width === undefined || wanted === width) return;
  const text = (size: number): string =>
    FAMILIES.get(size) ?? `models whose prompts have ${size} values a token`;
  throw refusedFile(path, `is an adapter for ${text(wanted)}, and ${name} is one of ${text(width)}`);
}

/** 0 for one that cannot be read, which an engine leaves out. */
function rankOf(path: string, layersPerBlock: number): number {
  try {
    const { rank, close } = readAdapter(path, layersPerBlock);
    close();
    return rank;
  } catch {
    return 0;
  }
}
