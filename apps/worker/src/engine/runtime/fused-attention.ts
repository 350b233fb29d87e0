/**
 * Rewrites the attentions of a graph to fused ones while it is loaded. Nothing is trusted: each kind of attention that the graph has is first run
 * apart from it, as the graph has it and fused, on the provider that is to run the graph, and only what agrees is rewritten. That takes milliseconds
 * and no weights; `lehr models prepare` compares whole graphs.
 */
import {
  type Attention,
  type AttentionPiece,
  attentionPieces,
  DATA_TYPE,
  findAttentions,
  fuseAttentions,
} from '@lehr/onnx-model';
import { disagreement, shareOfDifference, TOLERANCE } from './agreement.ts';
import { type AttentionInputs, attentionOf } from './attention-reference.ts';
import { readGraph, rewrittenSource } from './external-data.ts';
import type { Fusion, GraphSource } from './runtime.ts';
import {
  allFinite,
  elementCount,
  type FloatType,
  floatTensor,
  floatValues,
  largestDifference,
  type Tensor,
} from './tensor.ts';

/** Runs a model once and returns its only output. */
export type RunModel = (model: Uint8Array, feeds: Readonly<Record<string, Tensor>>) => Promise<Tensor>;

interface FusedGraph {
  readonly source: GraphSource;
  /** Absent where the graph has no attention. */
  readonly fusion?: Fusion;
}

/** The source itself where nothing can be fused. Throws LehrError `model-unavailable` when it is not an ONNX model. */
export async function withFusedAttention(source: GraphSource, run: RunModel): Promise<FusedGraph> {
  const stored = readGraph(source);
  const { found, unknown } = findAttentions(stored);
  if (found.length + unknown.length === 0) return { source };
  const problems = await compareAll(found, attentionPieces(stored, found), run);
  const agreeing = found.filter((_, i) => problems[i] === undefined);
  const reasons = [...unknown, ...problems.flatMap((problem) => problem ?? [])];
  const fusion = { attentions: agreeing.length, left: countOf(reasons) };
  if (agreeing.length === 0) return { source, fusion };
  fuseAttentions(stored, agreeing);
  return { source: rewrittenSource(source, stored), fusion };
}

function countOf(reasons: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

/** For each attention undefined, or why it stays as it is. Those of one kind are compared once. */
async function compareAll(
  found: readonly Attention[],
  pieces: readonly (AttentionPiece | undefined)[],
  run: RunModel,
): Promise<(string | undefined)[]> {
  const byKind = new Map<string, string | undefined>();
  const problems: (string | undefined)[] = [];
  for (const [i, piece] of pieces.entries()) {
    if (!piece) {
      problems.push('it reads other values of its graph');
      continue;
    }
    if (!byKind.has(piece.kind)) byKind.set(piece.kind, await problemOf(piece, found[i], run));
    problems.push(byKind.get(piece.kind));
  }
  return problems;
}

/** Rows, and tokens of the queries and of the keys: different, so that an attention that mixes them up is noticed. */
const [ROWS, QUERIES, KEYS] = [2, 6, 10];
/** Half of the last bit of half precision, as a share of a value. */
const HALF_ROUNDING = 2 ** -11;
/** Exporters hide a token with it, in a mask in float32. */
const LOWEST_FLOAT = -(2 - 2 ** -23) * 2 ** 127;
/** The largest number of half precision. */
const HALF_MAX = 65_504;

async function problemOf(
  piece: AttentionPiece,
  attention: Attention,
  run: RunModel,
): Promise<string | undefined> {
  const isHalf = attention.type === DATA_TYPE.float16;
  try {
    const inputs = inputsOf(attention);
    const feeds = feedsOf(inputs, attention);
    const original = await run(piece.original(), feeds);
    const fused = await run(piece.fused(), feeds);
    const problem = isHalf
      ? furtherFrom(attentionOf(inputs, attention), floatValues(original), floatValues(fused))
      : disagreement(shareOfDifference(original, fused), TOLERANCE.float32);
    if (problem !== undefined) return `fused, ${problem}`;
    if (!isHalf) return undefined;
    const large = feedsOf(overflowing(attention), attention);
    return allFinite(floatValues(await run(piece.fused(), large)))
      ? undefined
      : 'fused, it overflows half precision';
  } catch (error) {
    return `it cannot be compared: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** In half precision both differ from the exact result; the fused one may not differ more. */
function furtherFrom(exact: Float32Array, original: Float32Array, fused: Float32Array): string | undefined {
  const allowed = largestDifference(exact, original) + HALF_ROUNDING * largestOf(exact);
  const error = largestDifference(exact, fused);
  return error <= allowed
    ? undefined
    : `it differs by ${error} from the exact result, at most ${allowed} allowed`;
}

/** The product of each query and key is twice the largest number of half precision, before it is scaled. */
function overflowing(attention: Attention): AttentionInputs {
  const value = Math.sqrt((2 * HALF_MAX) / attention.headSize);
  const inputs = inputsOf(attention);
  const { queries, keys } = inputs;
  return {
    ...inputs,
    queries: { ...queries, data: queries.data.map(() => value) },
    keys: { ...keys, data: keys.data.map(() => value) },
  };
}

const largestOf = (values: Float32Array): number =>
  values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

function inputsOf({ heads, headSize, valueSize, mask, maskType, type }: Attention): AttentionInputs {
  const wave = (dims: readonly number[], phase: number) => ({
    dims,
    data: Float32Array.from({ length: elementCount(dims) }, (_, i) => Math.sin(i * i * 0.7 + i + phase)),
  });
  const lowest = maskType === type ? -1e4 : LOWEST_FLOAT;
  const hidden = Float32Array.from({ length: ROWS * QUERIES * KEYS }, (_, i) => (i % 7 === 3 ? lowest : 0));
  return {
    queries: wave([ROWS, QUERIES, heads, headSize], 0),
    keys: wave([ROWS, KEYS, heads, headSize], 1),
    values: wave([ROWS, KEYS, heads, valueSize], 2),
    ...(mask !== undefined && { mask: { dims: [ROWS, 1, QUERIES, KEYS], data: hidden } }),
  };
}

function feedsOf(inputs: AttentionInputs, { type, maskType }: Attention): Record<string, Tensor> {
  const element = (of: number): FloatType => (of === DATA_TYPE.float16 ? 'float16' : 'float32');
  return Object.fromEntries(
    Object.entries(inputs).map(([name, { data, dims }]) => [
      `lehr.${name}`,
      floatTensor(element(name === 'mask' ? maskType : type), data, dims),
    ]),
  );
}
