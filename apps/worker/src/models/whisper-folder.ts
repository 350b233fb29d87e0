/** A Whisper folder on disk, opened: tokenizer, encoder, decoder and decoding rules, ready to run. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import type { InferenceRuntime, LoadOptions, Placement, RuntimeSession } from '../runtime/runtime.ts';
import type { Decoder } from '../whisper/decoder.ts';
import { AudioEncoder } from '../whisper/encoder.ts';
import { LogitRules } from '../whisper/logit-rules.ts';
import { openWhisperTokenizer, type WhisperTokenizer } from '../whisper/tokenizer.ts';
import type { AlignmentHeads } from '../whisper/word-times.ts';
import { loadDecoder } from './load-decoder.ts';
import { openWhole } from './open-whole.ts';
import { type FrontEndConfig, readWhisperConfig, type WhisperConfig } from './whisper-config.ts';

export interface WhisperOptions extends LoadOptions {
  /** Which of several exports in one folder: the ending of the graphs' names, as `_quantized`. Default none. */
  readonly variant?: string;
}

/** Where a graph runs, as the runtime reported it after loading and running it. */
export interface WhisperGraphPlace {
  readonly graph: 'encoder' | 'decoder' | 'decoder_with_past';
  readonly provider: RuntimeSession['provider'];
  readonly placement?: Placement;
  readonly refusals?: readonly string[];
}

export interface WhisperModel {
  readonly tokenizer: WhisperTokenizer;
  readonly encoder: AudioEncoder;
  readonly decoder: Decoder;
  readonly rules: LogitRules;
  readonly frontEnd: FrontEndConfig;
  /** Whether a window of a long file is told what the one before it said. */
  readonly conditionsOnPrevious: boolean;
  /** Undefined when the graph does not give its cross-attentions: then words cannot be timed. */
  readonly alignment: AlignmentHeads | undefined;
  readonly graphs: readonly WhisperGraphPlace[];
  close(): Promise<void>;
}

/**
 * Opens a folder in Optimum's layout, its graphs at the root or below `onnx/`, and runs each graph. The folder comes
 * from the registry; every path below it is fixed here. Throws LehrError `model-unavailable` that names the file, and
 * leaves nothing loaded.
 */
export async function openWhisperModel(
  folder: string,
  runtime: InferenceRuntime,
  options: WhisperOptions,
): Promise<WhisperModel> {
  return openWhole(runtime, (tracked) => openParts(folder, tracked, options));
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
  // Shows where its nodes run, and that features fit the decoder.
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
    // openai's default. Small models repeat what they are told; their folders can turn it off.
    conditionsOnPrevious: config.generation.condition_on_prev_tokens ?? true,
    alignment: alignmentOf(config, decoder),
    graphs: [
      placeOf('encoder', encoderSession),
      placeOf('decoder', sessions[0]),
      ...sessions.slice(1).map((session) => placeOf('decoder_with_past', session)),
    ],
  };
}

/** It becomes part of a file name. */
function checkedVariant(variant: string): string {
  if (/^(_[a-z0-9_]{1,32})?$/.test(variant)) return variant;
  throw new LehrError(
    'model-unavailable',
    `The variant ${JSON.stringify(variant)} is no ending of a graph's name such as _fp16.`,
  );
}

/** The folder's list; older folders without one get openai's, made from the vocabulary. */
function suppressedTokens({ generation }: WhisperConfig, tokenizer: WhisperTokenizer): number[] {
  if (generation.suppress_tokens) return positive(generation.suppress_tokens);
  const { start, startOfPrevious, noSpeech, multilingual } = tokenizer.special;
  const tasks = multilingual ? [multilingual.transcribe, multilingual.translate] : [];
  return [...tokenizer.nonSpeechTokens(), start, startOfPrevious, noSpeech, ...tasks];
}

/** -1 stands for a default that nobody filled in. */
const positive = (ids: readonly number[]): number[] => ids.filter((id) => id >= 0);

/** Without a list of heads, all heads of the later half of the layers, as openai does. */
function alignmentOf(
  { generation, model }: WhisperConfig,
  { attendedLayers, sizes }: Decoder,
): AlignmentHeads | undefined {
  const later = Array.from({ length: sizes.layers }, (_, layer) => layer).slice(Math.floor(sizes.layers / 2));
  const everyHead = Array.from({ length: sizes.heads }, (_, head) => head);
  const heads =
    generation.alignment_heads ??
    later.flatMap((layer) => everyHead.map((head): [number, number] => [layer, head]));
  const known = heads.filter(([layer, head]) => attendedLayers.includes(layer) && head < sizes.heads);
  return known.length > 0 ? { heads: known, medianFilterWidth: model.median_filter_width } : undefined;
}

function placeOf(
  graph: WhisperGraphPlace['graph'],
  { provider, placement, refusals }: RuntimeSession,
): WhisperGraphPlace {
  return {
    graph,
    provider,
    ...(placement && { placement }),
    ...(refusals.length > 0 && { refusals }),
  };
}
