/** Opens a Stable Diffusion folder: tokenizer, text encoder, UNet, VAE and noise schedule, ready to run. */
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import type { SchedulerConfig } from '../../diffusion/scheduler-config.ts';
import { TextEncoder } from '../../diffusion/text-encoder.ts';
import type { ClipTokenizer } from '../../diffusion/tokenizer.ts';
import type { LatentSize, Unet } from '../../diffusion/unet.ts';
import { openVae, type PictureSize, type Vae } from '../../diffusion/vae.ts';
import type {
  Batching,
  GraphReport,
  InferenceRuntime,
  LoadOptions,
  RuntimeSession,
} from '../../runtime/runtime.ts';
import { reportOf } from '../graph-report.ts';
import { openWhole } from '../open-whole.ts';
import { openClipTokenizer } from './clip-tokenizer.ts';
import { type DiffusionConfig, readDiffusionConfig } from './diffusion-config.ts';
import { loadUnet } from './load-unet.ts';

export interface DiffusionOptions extends LoadOptions {
  /** Memory for cached prompt embeddings. */
  readonly embeddingCacheBytes?: number;
}

export interface DiffusionModel {
  readonly tokenizer: ClipTokenizer;
  readonly textEncoder: TextEncoder;
  readonly unet: Unet;
  readonly vae: Vae;
  readonly schedulerConfig: SchedulerConfig;
  /** Whether samples at any step can share UNet runs. */
  readonly batching: Batching;
  readonly graphs: readonly GraphReport[];
  readonly unetProvider: RuntimeSession['provider'];
  /** The picture size the model was trained at; undefined when its config does not say. */
  readonly nativeSize: PictureSize | undefined;
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
  return openWhole(runtime, (tracked) => openParts(folder, tracked, options));
}

async function openParts(
  folder: string,
  runtime: InferenceRuntime,
  options: DiffusionOptions,
): Promise<Omit<DiffusionModel, 'close'>> {
  const config = await readDiffusionConfig(folder);
  const maxTokens = config.textEncoder.max_position_embeddings ?? undefined;
  const tokenizer = await openClipTokenizer(join(folder, 'tokenizer'), { maxTokens });

  const textSession = await runtime.load({ path: join(folder, 'text_encoder/model.onnx') }, options);
  const textEncoder = new TextEncoder(textSession, tokenizer, {
    embeddingDim: config.textEncoder.hidden_size ?? undefined,
    ...(options.embeddingCacheBytes === undefined ? {} : { cacheBytes: options.embeddingCacheBytes }),
  });
  await textEncoder.encode(['']);

  const plan = { ...unetSizes(config), probe: probeSize(config), tokens: tokenizer.maxTokens };
  const loaded = await loadUnet(join(folder, 'unet/model.onnx'), plan, runtime, options);
  const { unet } = loaded;

  const vaeSession = await runtime.load({ path: join(folder, 'vae_decoder/model.onnx') }, options);
  const { latent_channels: latentChannels, scaling_factor: scalingFactor, shift_factor } = config.vae;
  const vaeConfig = {
    latentChannels: latentChannels ?? undefined,
    scalingFactor,
    shiftFactor: shift_factor ?? 0,
  };
  const vae = await openVae(vaeSession, vaeConfig);

  checkFit(folder, textEncoder, unet, vae);
  return {
    tokenizer,
    textEncoder,
    unet,
    vae,
    schedulerConfig: config.scheduler,
    batching: unet.batching,
    unetProvider: loaded.session.provider,
    nativeSize: nativeSize(config, vae),
    graphs: [
      reportOf('text_encoder', textSession),
      reportOf('unet', loaded.session),
      reportOf('vae_decoder', vaeSession),
    ],
  };
}

function unetSizes({ unet }: DiffusionConfig) {
  const width = unet.cross_attention_dim;
  return {
    latentChannels: unet.in_channels ?? undefined,
    // A list has one width per block; in Stable Diffusion they are all equal.
    embeddingDim: (Array.isArray(width) ? width[0] : width) ?? undefined,
  };
}

/** The smallest latent that still has more than one value after every halving inside the UNet. */
function probeSize({ unet }: DiffusionConfig): LatentSize {
  const halvings = (unet.block_out_channels?.length ?? STABLE_DIFFUSION_BLOCKS) - 1;
  const side = 2 * 2 ** halvings;
  return { height: side, width: side };
}

/** For folders without a unet/config.json; the size that follows fits a model with fewer blocks too. */
const STABLE_DIFFUSION_BLOCKS = 4;

function nativeSize({ unet }: DiffusionConfig, vae: Vae): PictureSize | undefined {
  const latent = unet.sample_size;
  if (!latent) return undefined;
  const [height, width] = typeof latent === 'number' ? [latent, latent] : latent;
  return { height: height * vae.scaleFactor, width: width * vae.scaleFactor };
}

/** Without this check, parts of different models in one folder would run and draw noise. */
function checkFit(folder: string, textEncoder: TextEncoder, unet: Unet, vae: Vae): void {
  if (textEncoder.embeddingDim !== unet.embeddingDim) {
    const widths = `${textEncoder.embeddingDim} wide, its unet takes ${unet.embeddingDim}`;
    throw new LehrError('model-unavailable', `The prompt embeddings of ${folder} are ${widths}.`);
  }
  if (unet.latentChannels !== vae.latentChannels) {
    const channels = `${unet.latentChannels} channels, its vae_decoder takes ${vae.latentChannels}`;
    throw new LehrError('model-unavailable', `The latents of ${folder} have ${channels}.`);
  }
}
