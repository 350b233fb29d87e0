/** Opens a Stable Diffusion folder: tokenizer, text encoder, UNet, VAE and noise schedule, ready to run. */

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredModel } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { openWhole, reportOf } from '../../folder/open-whole.ts';
import { ModelAdapters } from '../../models/adapters/model-adapters.ts';
import type {
  Batching,
  GraphReport,
  InferenceRuntime,
  LoadOptions,
  RuntimeSession,
} from '../../runtime/runtime.ts';
import type { PictureSize } from '../../values/resize.ts';
import type { Conditioning } from '../conditioning.ts';
import { addResidualInputs, type ResidualInputs } from '../control/add-residual-inputs.ts';
import { type ControlToOpen, type OpenControl, openControls } from '../control/open-controls.ts';
import { MAX_CHUNKS } from '../prompt-chunks.ts';
import type { LatentSize } from '../row-feeds.ts';
import type { SchedulerConfig } from '../scheduler-config.ts';
import type { PromptEncoder } from '../text-encoder.ts';
import type { ClipTokenizer } from '../tokenizer.ts';
import type { Unet, UnetConfig } from '../unet.ts';
import { openVae, type Vae, type VaeConfig } from '../vae.ts';
import { type DiffusionConfig, readDiffusionConfig } from './diffusion-config.ts';
import type { RowsPlan } from './load-rows.ts';
import { loadUnet } from './load-unet.ts';
import { openPictureInput, type PictureInput } from './open-picture-input.ts';
import { openTextEncoders } from './open-text-encoders.ts';
import { onlySize, sizeStep } from './picture-sizes.ts';

export interface DiffusionOptions extends LoadOptions {
  /** Memory for cached prompt embeddings. */
  readonly embeddingCacheBytes?: number;
  /** ControlNets that may guide it. */
  readonly controls?: readonly ControlToOpen[];
  /** Files of LoRAs. One that cannot be used is no reason to refuse the model. */
  readonly adapters?: readonly { readonly name: string; readonly path: string }[];
}

export interface DiffusionModel {
  readonly adapters: ModelAdapters;
  readonly tokenizer: ClipTokenizer;
  readonly textEncoder: PromptEncoder;
  readonly unet: Unet;
  /** The most chunks of a prompt. */
  readonly maxChunks: number;
  readonly vae: Vae;
  /** Opens the VAE decoder again, whole or in pieces (LoadOptions.largestPiece). */
  reloadDecoder(largestPiece?: number): Promise<RuntimeSession>;
  readonly pictureInput: PictureInput;
  /** Those of the options, each with the reason where it cannot be used. */
  readonly controls: readonly OpenControl[];
  readonly schedulerConfig: SchedulerConfig;
  /** The conditions of the UNet beside the prompt. */
  readonly conditioning: Conditioning;
  /** Whether samples at any step can share UNet runs. */
  readonly batching: Batching;
  readonly graphs: readonly GraphReport[];
  readonly unetProvider: RuntimeSession['provider'];
  /** The picture size the model was trained at; undefined when its config does not say. */
  readonly nativeSize: PictureSize | undefined;
  /** The only picture size that its graphs can draw; undefined when they can draw others. */
  readonly onlySize: PictureSize | undefined;
  /** What width and height of a picture are multiples of where the UNet joins values of its halvings again. */
  readonly sizeStep: number;
  close(): Promise<void>;
}

/**
 * Opens a folder in the layout of Optimum and diffusers-ONNX and runs each graph once. The folder comes from the
 * registry; every path below it is fixed here. Throws LehrError `model-unavailable` that names the file; nothing stays
 * loaded then.
 */
export async function openDiffusionModel(
  folder: string,
  runtime: InferenceRuntime,
  options: DiffusionOptions,
): Promise<DiffusionModel> {
  // Between two steps, and on a small machine during them, the worker, the API and Redis need the cores.
  const sharing = { spin: false, ...options };
  const config = await readDiffusionConfig(folder);
  const layers = config.unet.layers_per_block;
  const perBlock = Array.isArray(layers) ? layers[0] : layers;
  const adapters = new ModelAdapters(options.adapters ?? [], perBlock ?? LAYERS_PER_BLOCK);
  try {
    const model = await openWhole(folder, runtime, (tracked) =>
      openParts(folder, tracked, sharing, config, adapters),
    );
    return {
      ...model,
      async close() {
        adapters.close();
        await model.close();
      },
    };
  } catch (error) {
    adapters.close();
    throw error;
  }
}

/** The default of diffusers. */
const LAYERS_PER_BLOCK = 2;

async function openParts(
  folder: string,
  runtime: InferenceRuntime,
  options: DiffusionOptions,
  config: DiffusionConfig,
  adapters: ModelAdapters,
): Promise<Omit<DiffusionModel, 'close'>> {
  await checkGraphs(folder, graphsOf(config));
  const { tokenizer, textEncoder, graphs } = await openTextEncoders(
    folder,
    config,
    runtime,
    options,
    adapters,
  );

  const plan = { ...unetSizes(config), probe: probeSize(config), tokens: tokenizer.maxTokens };
  const path = join(folder, 'unet/model.onnx');
  const loaded = await openUnet(path, plan, runtime, options, adapters);
  const { unet, controls, graphs: controlGraphs } = loaded;

  const loadDecoder = (largestPiece?: number) =>
    runtime.load(
      { path: join(folder, 'vae_decoder/model.onnx') },
      { ...options, ...(largestPiece !== undefined && { largestPiece }) },
    );
  const vaeSession = await loadDecoder();
  const vae = await openVae(vaeSession, vaeConfig(config));
  const pictureInput = await openPictureInput(folder, vaeConfig(config), vae, runtime, options);
  if ((isRefinerConfig(config) || unet.readsMask) && !pictureInput.encoder) {
    const kind = unet.readsMask ? 'an inpainting model' : 'a refiner';
    throw new LehrError(
      'model-unavailable',
      `${folder} is ${kind}, which needs pictures: ${pictureInput.reason}.`,
    );
  }

  checkFit(folder, textEncoder, unet, vae);
  return {
    adapters,
    tokenizer,
    textEncoder,
    unet,
    maxChunks: unet.takesLongPrompts ? MAX_CHUNKS : 1,
    vae,
    reloadDecoder: loadDecoder,
    pictureInput,
    controls,
    schedulerConfig: config.scheduler,
    conditioning: conditioningOf(config, unet),
    batching: unet.batching,
    unetProvider: loaded.session.provider,
    nativeSize: nativeSize(config, vae),
    onlySize: onlySize(folder, loaded.session, vaeSession, vae.scaleFactor),
    sizeStep: sizeStep(halvingsOf(config), vae.scaleFactor),
    graphs: [
      ...graphs,
      reportOf('unet', loaded.session),
      reportOf('vae_decoder', vaeSession),
      ...(pictureInput.encoder ? [pictureInput.graph] : []),
      ...controlGraphs,
    ],
  };
}

/** The UNet with what may change its rows: adapters and ControlNets. */
async function openUnet(
  path: string,
  plan: RowsPlan & UnetConfig,
  runtime: InferenceRuntime,
  options: DiffusionOptions,
  adapters: ModelAdapters,
) {
  let residuals: ResidualInputs = { outcome: 'added', count: 0 };
  const rewrites = options.controls?.length
    ? [
        (stored: StoredModel) => {
          residuals = addResidualInputs(stored);
        },
      ]
    : [];
  const { unet, session } = await adapters.open('unet', (adapt) =>
    loadUnet(path, { ...plan, rewrites }, runtime, options, adapt),
  );
  const guided = { unet, residuals, plan: { ...plan, inputChannels: unet.latentChannels } };
  return { unet, session, ...(await openControls(options.controls ?? [], guided, runtime, options)) };
}

const isRefinerConfig = ({ textEncoder }: DiffusionConfig): boolean => textEncoder === undefined;

function graphsOf(config: DiffusionConfig): string[] {
  if (isRefinerConfig(config)) return ['text_encoder_2', 'unet', 'vae_decoder', 'vae_encoder'];
  const second = config.textEncoder2 ? ['text_encoder_2'] : [];
  return ['text_encoder', ...second, 'unet', 'vae_decoder'];
}

function unetSizes({ unet, textEncoder, textEncoder2 }: DiffusionConfig) {
  const width = unet.cross_attention_dim;
  return {
    inputChannels: unet.in_channels ?? undefined,
    latentChannels: unet.out_channels ?? undefined,
    // A list has one width per block; in Stable Diffusion they are all equal.
    embeddingDim: (Array.isArray(width) ? width[0] : width) ?? undefined,
    conditions: {
      text_embeds: textEncoder2?.projection_dim ?? undefined,
      time_ids: textEncoder ? TIME_IDS : REFINER_TIME_IDS,
      timestep_cond: unet.time_cond_proj_dim ?? undefined,
    },
  };
}

/** Three pairs: original size, crop, target size. */
const TIME_IDS = 6;
/** Original size, crop, and an aesthetic score. */
const REFINER_TIME_IDS = 5;

function conditioningOf({ unet: config, zeroesEmptyNegative }: DiffusionConfig, unet: Unet): Conditioning {
  // A model that was distilled with guidance takes no second row, also where its export left out the scale.
  const isDistilled = unet.conditions.has('timestep_cond') || Boolean(config.time_cond_proj_dim);
  return {
    guidance: isDistilled ? 'embedded' : 'rows',
    lengths: unet.conditions,
    zeroesEmptyNegative,
    readsMask: unet.readsMask,
  };
}

/** The defaults of diffusers' AutoencoderKL and of SDXL, for folders written before the field existed. */
const SCALING_FACTOR = { sd: 0.18215, sdxl: 0.13025 };

function vaeConfig({ vae, textEncoder2 }: DiffusionConfig): VaeConfig {
  return {
    latentChannels: vae.latent_channels ?? undefined,
    scalingFactor: vae.scaling_factor ?? SCALING_FACTOR[textEncoder2 ? 'sdxl' : 'sd'],
    shiftFactor: vae.shift_factor ?? 0,
    overflowsInHalf: vae.force_upcast ?? false,
  };
}

/** The smallest latent that still has more than one value after every halving inside the UNet. */
function probeSize(config: DiffusionConfig): LatentSize {
  const side = 2 * 2 ** halvingsOf(config);
  return { height: side, width: side };
}

const halvingsOf = ({ unet }: DiffusionConfig): number =>
  (unet.block_out_channels?.length ?? STABLE_DIFFUSION_BLOCKS) - 1;

/** For folders without a unet/config.json; the size that follows fits a model with fewer blocks too. */
const STABLE_DIFFUSION_BLOCKS = 4;

function nativeSize({ unet }: DiffusionConfig, vae: Vae): PictureSize | undefined {
  const latent = unet.sample_size;
  if (!latent) return undefined;
  const [height, width] = typeof latent === 'number' ? [latent, latent] : latent;
  return { height: height * vae.scaleFactor, width: width * vae.scaleFactor };
}

/** Without this check, parts of different models in one folder would run and draw noise. */
function checkFit(folder: string, textEncoder: PromptEncoder, unet: Unet, vae: Vae): void {
  if (textEncoder.embeddingDim !== unet.embeddingDim) {
    const widths = `${textEncoder.embeddingDim} wide, its unet takes ${unet.embeddingDim}`;
    throw new LehrError('model-unavailable', `The prompt embeddings of ${folder} are ${widths}.`);
  }
  const pooledDim = unet.conditions.get('text_embeds');
  if (pooledDim !== textEncoder.pooledDim) {
    const widths = `${textEncoder.pooledDim ?? 'not there'}, its unet takes ${pooledDim ?? 'none'}`;
    throw new LehrError('model-unavailable', `The pooled prompt embeddings of ${folder} are ${widths}.`);
  }
  const { inputChannels, latentChannels } = unet;
  if (latentChannels !== vae.latentChannels || (inputChannels !== latentChannels && !unet.readsMask)) {
    const channels = `${inputChannels} channels, its vae_decoder takes ${vae.latentChannels}`;
    const hint = inputChannels > vae.latentChannels ? ' A UNet for editing needs a picture as input.' : '';
    throw new LehrError('model-unavailable', `The latents of ${folder} have ${channels}.${hint}`);
  }
}

/**
 * Finds graphs that a folder lacks, and says how to export them, before anything is loaded.
 *
 * Throws LehrError `model-unavailable` that names every missing graph.
 */
async function checkGraphs(folder: string, graphs: readonly string[]): Promise<void> {
  const missing = graphs.filter((graph) => !existsSync(join(folder, graph, 'model.onnx')));
  if (missing.length === 0) return;
  const names = missing.map((graph) => `${graph}/model.onnx`).join(', ');
  throw new LehrError('model-unavailable', `${folder} has no ${names}. ${await adviceFor(folder, missing)}`);
}

async function adviceFor(folder: string, missing: readonly string[]): Promise<string> {
  const variant = await variantIn(join(folder, missing[0]));
  if (variant !== undefined) {
    const pull = `lehr models pull ${JSON.stringify(folder)} --variant ${variant}`;
    return `It holds the variant "${variant}"; give its graphs the plain names: ${pull}.`;
  }
  // torch's folders hold one VAE, which becomes two graphs.
  const sources = missing.map((graph) => (graph.startsWith('vae_') ? 'vae' : graph));
  const names = await Promise.all(sources.map((source) => readdir(join(folder, source)).catch(() => [])));
  const isTorch = names.flat().some((name) => /\.(safetensors|bin)$/.test(name));
  const command = 'lehr models export <folder or name>';
  return isTorch
    ? `It holds weights for torch; export it first: ${command}.`
    : `Export the model again: ${command}.`;
}

/** Of a graph such as `model.fp16.onnx` or `model_fp16.onnx`, which `lehr models pull` saves under its plain name. */
async function variantIn(graphFolder: string): Promise<string | undefined> {
  const names = await readdir(graphFolder).catch(() => []);
  return names
    .map((name) => /^model[._]([\w-]+)\.onnx$/.exec(name)?.[1])
    .find((variant) => variant !== undefined);
}
