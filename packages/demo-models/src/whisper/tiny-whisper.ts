/**
 * Writes a Whisper model with random weights, in the folder layout of Optimum's ONNX exports, for tests and benchmarks. Its
 * texts have no meaning, but they depend on the audio and they end.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltGraph, FloatType } from '../graph-builder.ts';
import { buildMergedDecoder, buildSplitDecoder } from './decoder-graph.ts';
import { buildEncoder } from './encoder-graph.ts';
import type { ExporterStyle, TinyWhisperPlan } from './plan.ts';
import {
  fillerEntries,
  tokenizerJson,
  type WhisperVocabulary,
  whisperVocabulary,
} from './tiny-whisper-tokenizer.ts';

export interface TinyWhisperOptions {
  /** Seed of the weights; default 0. */
  readonly seed?: number;
  /** `small`, the default, runs in a millisecond; `whisper-tiny` has the sizes of openai/whisper-tiny. */
  readonly size?: 'small' | 'whisper-tiny';
  readonly dtype?: FloatType;
  /** One merged decoder, the default, or the older pair of files. */
  readonly decoder?: 'merged' | 'split';
  readonly style?: ExporterStyle;
  /** Folder of the graphs: beside the configs, or `onnx/` as on the Hugging Face hub. */
  readonly graphs?: 'root' | 'onnx';
  /** Suffix of the graph files, such as `_fp16`. */
  readonly variant?: string;
  /** Default English and Spanish; `[]` makes an English-only model. */
  readonly languages?: readonly string[];
  /** Whether the decoder outputs its cross-attentions, for word timestamps. */
  readonly crossAttentions?: boolean;
  /** Texts end after about this many tokens; default 24 for `small`, a random length for `whisper-tiny`. */
  readonly endsNear?: number;
  /** Weights in a file beside each graph. */
  readonly externalData?: boolean;
}

type Sizes = Pick<
  TinyWhisperPlan,
  'chunkSeconds' | 'width' | 'heads' | 'encoderLayers' | 'decoderLayers' | 'feedForward' | 'targetPositions'
>;

const SMALL: Sizes = {
  chunkSeconds: 2,
  width: 32,
  heads: 2,
  encoderLayers: 2,
  decoderLayers: 2,
  feedForward: 64,
  targetPositions: 96,
};

const WHISPER_TINY: Sizes = {
  chunkSeconds: 30,
  width: 384,
  heads: 6,
  encoderLayers: 4,
  decoderLayers: 4,
  feedForward: 1536,
  targetPositions: 448,
};
const WHISPER_TINY_TEXT_TOKENS = 50_257;
/** Number of languages of the multilingual models; made-up codes fill the list. */
const LANGUAGE_COUNT = 99;

/** Creates `folder`, with its parents, and fills it. The same options give the same bytes. */
export async function writeTinyWhisper(folder: string, options: TinyWhisperOptions = {}): Promise<void> {
  const isSmall = options.size !== 'whisper-tiny';
  const sizes = isSmall ? SMALL : WHISPER_TINY;
  const languages = options.languages ?? (isSmall ? ['en', 'es'] : manyLanguages());
  const sourcePositions = sizes.chunkSeconds * 50;
  const spoken = languages.length === 0 ? ['en'] : languages;
  const plain = { languages: spoken, timestamps: sourcePositions + 1 };
  const missing = isSmall ? 0 : WHISPER_TINY_TEXT_TOKENS - whisperVocabulary(plain).endToken;
  const vocabulary = whisperVocabulary({ ...plain, extra: fillerEntries(missing) });
  const endsNear = options.endsNear ?? (isSmall ? 24 : undefined);
  const plan: TinyWhisperPlan = {
    ...sizes,
    seed: options.seed ?? 0,
    dtype: options.dtype ?? 'float32',
    opset: 14,
    style: options.style ?? 'transformers-4.33',
    crossAttentions: options.crossAttentions ?? false,
    externalData: options.externalData ?? false,
    melBins: 80,
    sourcePositions,
    vocabularySize: vocabulary.size,
    endToken: vocabulary.endToken,
    endsNear,
  };
  await mkdir(folder, { recursive: true });
  await writeGraphs(join(folder, options.graphs === 'onnx' ? 'onnx' : '.'), plan, options);
  const files = {
    'config.json': configOf(plan),
    'generation_config.json': generationConfigOf(plan, vocabulary, languages),
    'preprocessor_config.json': preprocessorConfigOf(plan),
    'tokenizer.json': tokenizerJson(vocabulary),
    'tokenizer_config.json': tokenizerConfigOf(plan),
  };
  for (const [name, value] of Object.entries(files)) {
    await writeFile(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
  }
}

const manyLanguages = (): string[] => [
  'en',
  'es',
  ...Array.from(
    { length: LANGUAGE_COUNT - 2 },
    (_, i) => `x${String.fromCharCode(97 + Math.floor(i / 26), 97 + (i % 26))}`,
  ),
];

async function writeGraphs(
  folder: string,
  plan: TinyWhisperPlan,
  options: TinyWhisperOptions,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const write = async (name: string, graph: BuiltGraph): Promise<void> => {
    await writeFile(join(folder, `${name}${options.variant ?? ''}.onnx`), graph.bytes);
    if (graph.externalData) await writeFile(join(folder, `${name}.onnx_data`), graph.externalData);
  };
  await write('encoder_model', buildEncoder(plan));
  if (options.decoder === 'split') {
    await write('decoder_model', buildSplitDecoder(plan, false));
    await write('decoder_with_past_model', buildSplitDecoder(plan, true));
  } else {
    await write('decoder_model_merged', buildMergedDecoder(plan));
  }
}

const configOf = (plan: TinyWhisperPlan) => ({
  architectures: ['WhisperForConditionalGeneration'],
  model_type: 'whisper',
  bos_token_id: plan.endToken,
  decoder_start_token_id: plan.endToken + 1,
  d_model: plan.width,
  decoder_attention_heads: plan.heads,
  decoder_ffn_dim: plan.feedForward,
  decoder_layers: plan.decoderLayers,
  encoder_attention_heads: plan.heads,
  encoder_ffn_dim: plan.feedForward,
  encoder_layers: plan.encoderLayers,
  eos_token_id: plan.endToken,
  is_encoder_decoder: true,
  max_source_positions: plan.sourcePositions,
  max_target_positions: plan.targetPositions,
  median_filter_width: 7,
  num_mel_bins: plan.melBins,
  pad_token_id: plan.endToken,
  vocab_size: plan.vocabularySize,
});

function generationConfigOf(
  plan: TinyWhisperPlan,
  { special, endToken, tokens }: WhisperVocabulary,
  languages: readonly string[],
) {
  const idOf = (name: string): number => endToken + special.indexOf(`<|${name}|>`);
  const isMultilingual = languages.length > 0;
  const never = ['startoftranscript', 'translate', 'transcribe', 'startoflm', 'startofprev', 'nospeech'];
  return {
    alignment_heads: Array.from({ length: plan.decoderLayers }, (_, layer) => [layer, 0]),
    begin_suppress_tokens: [tokens.Ġ, endToken],
    bos_token_id: endToken,
    decoder_start_token_id: idOf('startoftranscript'),
    eos_token_id: endToken,
    is_multilingual: isMultilingual,
    ...(isMultilingual && {
      lang_to_id: Object.fromEntries(languages.map((code) => [`<|${code}|>`, idOf(code)])),
      task_to_id: { transcribe: idOf('transcribe'), translate: idOf('translate') },
    }),
    max_initial_timestamp_index: 50,
    max_length: plan.targetPositions,
    no_timestamps_token_id: idOf('notimestamps'),
    pad_token_id: endToken,
    prev_sot_token_id: idOf('startofprev'),
    return_timestamps: false,
    suppress_tokens: never.map(idOf).sort((a, b) => a - b),
  };
}

const preprocessorConfigOf = (plan: TinyWhisperPlan) => ({
  chunk_length: plan.chunkSeconds,
  feature_extractor_type: 'WhisperFeatureExtractor',
  feature_size: plan.melBins,
  hop_length: 160,
  n_fft: 400,
  n_samples: plan.chunkSeconds * 16_000,
  nb_max_frames: plan.chunkSeconds * 100,
  padding_side: 'right',
  padding_value: 0,
  processor_class: 'WhisperProcessor',
  return_attention_mask: false,
  sampling_rate: 16_000,
});

const tokenizerConfigOf = (plan: TinyWhisperPlan) => ({
  add_prefix_space: false,
  bos_token: '<|endoftext|>',
  clean_up_tokenization_spaces: true,
  eos_token: '<|endoftext|>',
  errors: 'replace',
  model_max_length: plan.targetPositions,
  pad_token: '<|endoftext|>',
  processor_class: 'WhisperProcessor',
  tokenizer_class: 'WhisperTokenizer',
  unk_token: '<|endoftext|>',
});
