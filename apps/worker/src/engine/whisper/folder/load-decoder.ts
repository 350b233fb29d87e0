/**
 * Loads a Whisper decoder so that each row of a call can be at its own position in its text; where that is impossible,
 * loads it aligned, with the reason.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  DATA_TYPE,
  type GraphProto,
  type NodeProto,
  readStoredModel,
  withFileSource,
} from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import type {
  Batching,
  GraphSource,
  InferenceRuntime,
  LoadOptions,
  RuntimeSession,
} from '../../runtime/runtime.ts';
import { Decoder } from '../decoder.ts';
import { type DecoderConfig, type DecoderSessions, readDecoderSizes } from '../decoder-graphs.ts';
import type { SpecialTokens } from '../special-tokens.ts';
import {
  checkDecoder,
  checkFinite,
  checkQuantizedDecoder,
  type DecoderCheck,
  type TwoTexts,
} from './check-decoder.ts';
import { rewireDecoder } from './rewire-decoder.ts';

/** The files of one decoder; a merged decoder is one file, named twice. */
interface DecoderFiles {
  readonly first: string;
  readonly next: string;
}

export interface LoadedDecoder {
  readonly decoder: Decoder;
  readonly sessions: readonly RuntimeSession[];
}

/**
 * Rewires, loads and checks; when any of these fails, loads the files as they are in aligned mode, with the reason. Throws
 * LehrError `model-unavailable` when that fails too.
 */
export async function loadDecoder(
  folder: string,
  variant: string,
  config: DecoderConfig,
  special: SpecialTokens,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<LoadedDecoder> {
  const files = findFiles(folder, variant);
  const loadPlain = async (reason: string): Promise<LoadedDecoder> => {
    const loaded = await load(files, undefined, runtime, options);
    const decoder = decoderOf(loaded, config, { mode: 'aligned', reason });
    return { decoder, sessions: loaded.sessions };
  };
  const findProblemOf = ({ decoder, sessions }: LoadedDecoder): Promise<string | undefined> =>
    findProblem(decoder, files, sessions[0], special, () => loadPlain('compared with the rewired graph'));
  const attempt = await loadRows(files, config, runtime, options, findProblemOf);
  if (!('reason' in attempt)) return attempt;
  const plain = await loadPlain(attempt.reason);
  const problem = await findProblemOf(plain).catch(messageOf);
  if (problem === undefined) return plain;
  await closeAll(plain);
  throw new LehrError('model-unavailable', `${files.next} cannot be used: ${problem}.`);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function findFiles(folder: string, variant: string): DecoderFiles {
  const path = (name: string): string => join(folder, `${name}${variant}.onnx`);
  const merged = path('decoder_model_merged');
  if (existsSync(merged)) return { first: merged, next: merged };
  const files = { first: path('decoder_model'), next: path('decoder_with_past_model') };
  const missing = Object.values(files).find((file) => !existsSync(file));
  if (!missing) return files;
  throw new LehrError(
    'model-unavailable',
    `There is no ${merged}, and no pair of decoder_model and decoder_with_past_model beside it.`,
  );
}

async function loadRows(
  files: DecoderFiles,
  config: DecoderConfig,
  runtime: InferenceRuntime,
  options: LoadOptions,
  findProblemOf: (loaded: LoadedDecoder) => Promise<string | undefined>,
): Promise<LoadedDecoder | { readonly reason: string }> {
  let loaded: Loaded | undefined;
  try {
    const rewired = await loadRewired(files, config, runtime, options);
    if ('reason' in rewired) return rewired;
    loaded = rewired;
    const decoder = decoderOf(loaded, config, { mode: 'rows' });
    const rows = { decoder, sessions: loaded.sessions };
    const problem = await findProblemOf(rows);
    if (problem === undefined) return rows;
    await closeAll(loaded);
    return { reason: problem };
  } catch (error) {
    if (loaded) await closeAll(loaded);
    return { reason: `the rewired graph does not run: ${messageOf(error)}` };
  }
}

interface Loaded extends DecoderSessions {
  /** Each session once. */
  readonly sessions: readonly RuntimeSession[];
}

/** A separate function, so that the rewritten bytes can be freed as soon as the session is loaded. */
async function loadRewired(
  files: DecoderFiles,
  config: DecoderConfig,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<Loaded | { readonly reason: string }> {
  const kept = await runtime.rewired?.(files.next);
  if (kept) return load(files, kept, runtime, options);
  const rewiring = rewireDecoder(files.next, {
    layers: config.decoder_layers,
    heads: config.decoder_attention_heads,
    width: config.d_model,
    targetPositions: config.max_target_positions,
  });
  if (rewiring.outcome === 'impossible') return { reason: rewiring.reason };
  return load(files, rewiring.bytes, runtime, options);
}

async function load(
  files: DecoderFiles,
  bytes: Uint8Array | undefined,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<Loaded> {
  const source: GraphSource = { path: files.next, ...(bytes && { bytes }) };
  const next = await runtime.load(source, options);
  if (files.first === files.next) return { first: next, next, sessions: [next] };
  try {
    const first = await runtime.load({ path: files.first }, options);
    return { first, next, sessions: [first, next] };
  } catch (error) {
    await next.close();
    throw error;
  }
}

const decoderOf = (sessions: DecoderSessions, config: DecoderConfig, batching: Batching): Decoder =>
  new Decoder(sessions, readDecoderSizes(sessions, config), batching);

async function closeAll({ sessions }: LoadedDecoder | Loaded): Promise<void> {
  for (const session of sessions) await session.close();
}

/** float32 on a CPU differs by rounding alone, also after dynamic quantization. `share` is relative to the difference of two texts. */
const STRICT = { absolute: 1e-4, share: 1e-3 };
/** Half precision and GPUs round by batch size. Mixed-up rows would differ 20 times as much. */
const LENIENT = { absolute: 1e-3, share: 0.05 };

/** Undefined when rows get the same logits in a batch as alone. `loadPlain` loads the graphs as they are in their files. */
async function findProblem(
  decoder: Decoder,
  files: DecoderFiles,
  { provider }: RuntimeSession,
  special: SpecialTokens,
  loadPlain: () => Promise<LoadedDecoder>,
): Promise<string | undefined> {
  const texts = twoTexts(special);
  const { isQuantized, isHalf } = roundingOf(files.next);
  // The texts of an aligned decoder run as the exporter meant them to; a quantized graph has nothing to compare them with.
  if (isQuantized && decoder.batching.mode === 'aligned') {
    await checkFinite(decoder, texts);
    return undefined;
  }
  const { difference, effect } = isQuantized
    ? await besidePlain(decoder, texts, loadPlain)
    : await checkDecoder(decoder, texts);
  const isExact = provider === 'cpu' && !isHalf;
  const { absolute, share } = isExact ? STRICT : LENIENT;
  const tolerance = Math.max(absolute, share * effect);
  if (difference <= tolerance) return undefined;
  const what = isQuantized
    ? 'a text beside another one, or after the graph was rewired,'
    : 'a text read in pieces';
  const other = isQuantized ? 'by the graph as it is' : 'at once';
  return `${what} differs from the same text read ${other} by ${difference}, at most ${tolerance} allowed`;
}

async function besidePlain(
  decoder: Decoder,
  texts: TwoTexts,
  loadPlain: () => Promise<LoadedDecoder>,
): Promise<DecoderCheck> {
  const plain = await loadPlain();
  try {
    return await checkQuantizedDecoder(decoder, plain.decoder, texts);
  } finally {
    await closeAll(plain);
  }
}

const twoTexts = ({ start, noTimestamps, noSpeech, startOfPrevious }: SpecialTokens): TwoTexts => ({
  prompts: [
    [start, noTimestamps],
    [startOfPrevious, 0, 1, start, noTimestamps],
  ],
  next: [0, noSpeech, 1],
});

/**
 * `isQuantized`: a row's rounding depends on the other rows of its batch, as in dynamically quantized graphs. `isHalf`: it computes in half
 * precision, also where its inputs and outputs are in float32.
 */
const roundingOf = (path: string): { readonly isQuantized: boolean; readonly isHalf: boolean } =>
  withFileSource(path, (source) => {
    const { graph, initializers } = readStoredModel(source);
    return {
      isQuantized: someNode(graph, ({ opType }) => Boolean(opType?.startsWith('DynamicQuantize'))),
      isHalf: initializers.some(({ tensor }) => tensor.dataType === DATA_TYPE.float16),
    };
  });

const someNode = ({ node }: GraphProto, is: (node: NodeProto) => boolean): boolean =>
  (node ?? []).some((each) => is(each) || each.attribute?.some(({ g }) => g && someNode(g, is)));
