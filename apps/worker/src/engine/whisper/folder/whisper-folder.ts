/** Opens a Whisper folder: tokenizer, encoder, decoder and decoding rules, ready to run. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../../folder/config-file.ts';
import { openWhole, reportOf } from '../../folder/open-whole.ts';
import type { FrontEnd } from '../../protocol/messages.ts';
import type { GraphReport, InferenceRuntime, LoadOptions } from '../../runtime/runtime.ts';
import type { Decoder } from '../decoder.ts';
import { AudioEncoder } from '../encoder.ts';
import { LogitRules } from '../logit-rules.ts';
import { findSpecialTokens, type GenerationConfig } from '../special-tokens.ts';
import { WhisperTokenizer } from '../tokenizer.ts';
import type { AlignmentHeads } from '../word-times.ts';
import { loadDecoder } from './load-decoder.ts';
import { readWhisperConfig, type WhisperConfig } from './whisper-config.ts';

export interface WhisperOptions extends LoadOptions {
  /** Which of several exports in one folder: the suffix of the graph files, such as `_quantized`. Default none. */
  readonly variant?: string;
}

export interface WhisperModel {
  readonly tokenizer: WhisperTokenizer;
  readonly encoder: AudioEncoder;
  readonly decoder: Decoder;
  readonly rules: LogitRules;
  readonly frontEnd: FrontEnd;
  /** Whether the prompt of a window contains the text of the window before it. */
  readonly conditionsOnPrevious: boolean;
  /** Undefined when the graph does not output its cross-attentions: then words cannot be timed. */
  readonly alignment: AlignmentHeads | undefined;
  readonly graphs: readonly GraphReport[];
  close(): Promise<void>;
}

/**
 * Opens a folder in Optimum's layout, its graphs at the root or below `onnx/`, and runs each graph. The folder comes
 * from the registry; every path below it is fixed here. Throws LehrError `model-unavailable` that names the file; nothing
 * stays loaded then.
 */
export async function openWhisperModel(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
): Promise<WhisperModel> {
  return openWhole(folder, runtime, (tracked) => openParts(folder, tracked, options));
}

async function openParts(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
): Promise<Omit<WhisperModel, 'close'>> {
  const config = await readWhisperConfig(folder);
  const tokenizer = await openWhisperTokenizer(folder, config.generation);
  const variant = checkedVariant(options.variant ?? '');
  const encoderFile = `encoder_model${variant}.onnx`;
  const graphs = existsSync(join(folder, encoderFile)) ? folder : join(folder, 'onnx');

  const encoderSession = await runtime.load({ path: join(graphs, encoderFile) }, options);
  const { melBins, windowFrames } = config.frontEnd;
  const encoder = new AudioEncoder(encoderSession, { melBins, windowFrames, width: config.model.d_model });

  const { special } = tokenizer;
  const { decoder, sessions } = await loadDecoder(graphs, variant, config.model, special, runtime, options);
  // One run of each graph: shows where its nodes run, and that the features fit the decoder.
  const [features] = await encoder.encode(
    [new Float32Array(melBins * windowFrames)],
    decoder.sizes.floatType,
  );
  await decoder.start([[special.start]], [features]);

  return {
    tokenizer,
    encoder,
    decoder,
    rules: new LogitRules(special, {
      suppress: suppressedTokens(config, tokenizer),
      beginSuppress: positive(config.generation.begin_suppress_tokens ?? []),
      maxInitialTimestamp: config.generation.max_initial_timestamp_index ?? undefined,
    }),
    frontEnd: config.frontEnd,
    // True is openai's default. Small models repeat a prompt; their folders can turn it off.
    conditionsOnPrevious: config.generation.condition_on_prev_tokens ?? true,
    alignment: alignmentOf(config, decoder),
    graphs: [
      reportOf('encoder', encoderSession),
      reportOf('decoder', sessions[0]),
      ...sessions.slice(1).map((session) => reportOf('decoder_with_past', session)),
    ],
  };
}

/** The variant becomes part of a file name. */
function checkedVariant(variant: string): string {
  if (/^(_[a-z0-9_]{1,32})?$/.test(variant)) return variant;
  throw new LehrError(
    'model-unavailable',
    `The variant ${JSON.stringify(variant)} is not a suffix of a graph's name such as _fp16.`,
  );
}

/** The folder's list; for older folders without one, openai's list, made from the vocabulary. */
function suppressedTokens({ generation }: WhisperConfig, tokenizer: WhisperTokenizer): number[] {
  if (generation.suppress_tokens) return positive(generation.suppress_tokens);
  const { start, startOfPrevious, noSpeech, multilingual } = tokenizer.special;
  const tasks = multilingual ? [multilingual.transcribe, multilingual.translate] : [];
  return [...tokenizer.nonSpeechTokens(), start, startOfPrevious, noSpeech, ...tasks];
}

/** In these lists -1 stands for a default that was not filled in. */
const positive = (ids: readonly number[]): number[] => ids.filter((id) => id >= 0);

/**
 * Without a list of heads that this decoder has: all heads in the later half of the layers, as in openai's code. A distilled model may keep
 * the list of the model that it was made from, whose decoder had more layers.
 */
function alignmentOf(
  { generation, model }: WhisperConfig,
  { attendedLayers, sizes }: Decoder,
): AlignmentHeads | undefined {
  const later = Array.from({ length: sizes.layers }, (_, layer) => layer).slice(Math.floor(sizes.layers / 2));
  const everyHead = Array.from({ length: sizes.heads }, (_, head) => head);
  const listed = generation.alignment_heads;
  const heads = listed?.every(([layer, head]) => layer < sizes.layers && head < sizes.heads)
    ? listed
    : later.flatMap((layer) => everyHead.map((head): [number, number] => [layer, head]));
  const known = heads.filter(([layer]) => attendedLayers.includes(layer));
  return known.length > 0 ? { heads: known, medianFilterWidth: model.median_filter_width } : undefined;
}

const TokenizerJsonSchema = z.looseObject({
  model: z.looseObject({ type: z.literal('BPE') }),
  added_tokens: z.array(z.object({ id: z.int().nonnegative(), content: z.string() })).default([]),
});

/** Reads `tokenizer.json`. Throws LehrError `model-unavailable` that names the file. */
export async function openWhisperTokenizer(
  folder: string,
  generation: GenerationConfig,
): Promise<WhisperTokenizer> {
  const json = await readConfigFile(join(folder, 'tokenizer.json'), TokenizerJsonSchema);
  const added = new Map(json.added_tokens.map(({ content, id }) => [content, id]));
  try {
    // Without the added tokens, so that a special token written out in a prompt is plain text and steers nothing.
    return new WhisperTokenizer({ ...json, added_tokens: [] }, findSpecialTokens(generation, added), added);
  } catch (cause) {
    if (cause instanceof LehrError) throw cause;
    throw new LehrError('model-unavailable', `${folder} has no tokenizer that Lehr can run.`, { cause });
  }
}
