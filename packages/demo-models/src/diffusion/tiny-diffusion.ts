/**
 * Writes a Stable Diffusion model of about half a megabyte with random weights, in the folder layout of Optimum's ONNX
 * exports, for tests.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltGraph, FloatType } from '../graph-builder.ts';
import type { TinyDiffusionPlan } from './plan.ts';
import { buildTextEncoder } from './text-encoder-graph.ts';
import { clipVocabulary, tinyMerges } from './tiny-tokenizer.ts';
import { buildUnet } from './unet-graph.ts';
import { buildVaeDecoder, VAE_CHANNELS } from './vae-decoder-graph.ts';
import { buildVaeEncoder } from './vae-encoder-graph.ts';

export interface TinyDiffusionOptions {
  /** Seed of the weights; default 0. */
  readonly seed?: number;
  readonly dtype?: FloatType;
  /** Optimum exports int64; the scripts of diffusers export the float type. */
  readonly timestepType?: TinyDiffusionPlan['timestepType'];
  /** `[]`, the default, is the scalar of current Optimum; older versions export `['steps']`. */
  readonly timestepDims?: TinyDiffusionPlan['timestepDims'];
  /** Puts a Cast between the timestep and its Unsqueeze, as some exporters do. */
  readonly castTimestepFirst?: boolean;
  readonly tokenIdType?: TinyDiffusionPlan['tokenIdType'];
  readonly latentChannels?: number;
  readonly sampleSize?: number;
  /** Width of a prompt embedding; default 32. */
  readonly embeddingDim?: number;
  /** Weights in `model.onnx_data` beside each graph. */
  readonly externalData?: boolean;
  /** 11 to 17; below 13 the axes of Unsqueeze are an attribute. Default 14, as in Optimum. */
  readonly opset?: number;
  /** Writes a VAE encoder too, for image to image. */
  readonly vaeEncoder?: boolean;
  readonly predictionType?: 'epsilon' | 'v_prediction';
}

/** Creates `folder`, with its parents, and fills it. The same options give the same bytes. */
export async function writeTinyDiffusion(folder: string, options: TinyDiffusionOptions = {}): Promise<void> {
  const merges = tinyMerges();
  const vocabulary = clipVocabulary(merges);
  const plan = planOf(options, Object.keys(vocabulary).length);

  await writeGraph(join(folder, 'text_encoder'), buildTextEncoder(plan), textEncoderConfig(plan));
  await writeGraph(join(folder, 'unet'), buildUnet(plan), unetConfig(plan));
  await writeGraph(join(folder, 'vae_decoder'), buildVaeDecoder(plan), vaeConfig(plan));
  if (options.vaeEncoder) {
    await writeGraph(join(folder, 'vae_encoder'), buildVaeEncoder(plan), vaeConfig(plan));
  }
  await writeTokenizer(join(folder, 'tokenizer'), vocabulary, merges, plan);
  await writeJson(
    join(folder, 'scheduler'),
    'scheduler_config.json',
    schedulerConfig(options.predictionType ?? 'epsilon'),
  );
  await writeJson(folder, 'model_index.json', MODEL_INDEX);
}

function planOf(options: TinyDiffusionOptions, vocabularySize: number): TinyDiffusionPlan {
  return {
    seed: options.seed ?? 0,
    dtype: options.dtype ?? 'float32',
    opset: options.opset ?? 14,
    timestepType: options.timestepType ?? 'int64',
    timestepDims: options.timestepDims ?? [],
    castTimestepFirst: options.castTimestepFirst ?? false,
    tokenIdType: options.tokenIdType ?? 'int64',
    latentChannels: options.latentChannels ?? 4,
    sampleSize: options.sampleSize ?? 64,
    embeddingDim: options.embeddingDim ?? 32,
    tokens: 77,
    vocabularySize,
    scalingFactor: 0.18215,
    externalDataFile: options.externalData ? 'model.onnx_data' : undefined,
  };
}

async function writeGraph(folder: string, graph: BuiltGraph, config: object): Promise<void> {
  await writeJson(folder, 'config.json', config);
  await writeFile(join(folder, 'model.onnx'), graph.bytes);
  if (graph.externalData) await writeFile(join(folder, 'model.onnx_data'), graph.externalData);
}

async function writeJson(folder: string, name: string, value: object): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
}

async function writeTokenizer(
  folder: string,
  vocabulary: Record<string, number>,
  merges: readonly string[],
  plan: TinyDiffusionPlan,
): Promise<void> {
  await writeJson(folder, 'vocab.json', vocabulary);
  await writeFile(join(folder, 'merges.txt'), `#version: 0.2\n${merges.join('\n')}\n`);
  await writeJson(folder, 'special_tokens_map.json', SPECIAL_TOKENS);
  await writeJson(folder, 'tokenizer_config.json', {
    ...SPECIAL_TOKENS,
    add_prefix_space: false,
    do_lower_case: true,
    errors: 'replace',
    model_max_length: plan.tokens,
    tokenizer_class: 'CLIPTokenizer',
  });
}

const SPECIAL_TOKENS = {
  bos_token: '<|startoftext|>',
  eos_token: '<|endoftext|>',
  pad_token: '<|endoftext|>',
  unk_token: '<|endoftext|>',
};

const MODEL_INDEX = {
  _class_name: 'ORTStableDiffusionPipeline',
  _diffusers_version: '0.31.0',
  feature_extractor: [null, null],
  requires_safety_checker: false,
  safety_checker: [null, null],
  scheduler: ['diffusers', 'PNDMScheduler'],
  text_encoder: ['diffusers', 'OnnxRuntimeModel'],
  tokenizer: ['transformers', 'CLIPTokenizer'],
  unet: ['diffusers', 'OnnxRuntimeModel'],
  vae_decoder: ['diffusers', 'OnnxRuntimeModel'],
};

const textEncoderConfig = (plan: TinyDiffusionPlan) => ({
  architectures: ['CLIPTextModel'],
  model_type: 'clip_text_model',
  hidden_size: plan.embeddingDim,
  max_position_embeddings: plan.tokens,
  vocab_size: plan.vocabularySize,
  bos_token_id: plan.vocabularySize - 2,
  eos_token_id: plan.vocabularySize - 1,
});

const unetConfig = (plan: TinyDiffusionPlan) => ({
  _class_name: 'UNet2DConditionModel',
  block_out_channels: [32],
  cross_attention_dim: plan.embeddingDim,
  in_channels: plan.latentChannels,
  out_channels: plan.latentChannels,
  sample_size: plan.sampleSize,
});

const vaeConfig = (plan: TinyDiffusionPlan) => ({
  _class_name: 'AutoencoderKL',
  block_out_channels: VAE_CHANNELS,
  in_channels: 3,
  latent_channels: plan.latentChannels,
  out_channels: 3,
  sample_size: plan.sampleSize * 2 ** (VAE_CHANNELS.length - 1),
  scaling_factor: plan.scalingFactor,
});

/** The noise schedule of Stable Diffusion 1.5. */
const schedulerConfig = (predictionType: string) => ({
  _class_name: 'PNDMScheduler',
  _diffusers_version: '0.31.0',
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  beta_start: 0.00085,
  num_train_timesteps: 1000,
  prediction_type: predictionType,
  set_alpha_to_one: false,
  skip_prk_steps: true,
  steps_offset: 1,
  trained_betas: null,
});
