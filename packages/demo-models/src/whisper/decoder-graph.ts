import { type BuiltGraph, GraphBuilder } from '../graph-builder.ts';
import {
  attend,
  feedForward,
  keysOrValues,
  layerNorm,
  queries,
  WeightStore,
  type WhisperContext,
} from './layers.ts';
import type { TinyWhisperPlan } from './plan.ts';

/** One decoder for the first and the later calls: an If on `use_cache_branch`, as Optimum merges them. */
export function buildMergedDecoder(plan: TinyWhisperPlan): BuiltGraph {
  const graph = new GraphBuilder('merged', plan.opset, plan.dtype);
  const weights = new WeightStore(graph, plan.seed);
  graph.input('input_ids', 'int64', ['batch_size', 'decoder_sequence_length']);
  declareAudio(graph, plan);
  declarePast(graph, plan, true);
  graph.input('use_cache_branch', 'bool', [1]);
  const cached = graph.branch('with_past');
  const first = graph.branch('no_past');
  decode({ graph: cached, weights, plan }, true, true);
  decode({ graph: first, weights, plan }, false, true);
  graph.choose('use_cache_branch', cached, first);
  return graph.build(plan.externalData ? 'decoder_model_merged.onnx_data' : undefined);
}

/** One of the older pair of files: for the first call, or for every later call. */
export function buildSplitDecoder(plan: TinyWhisperPlan, withPast: boolean): BuiltGraph {
  const graph = new GraphBuilder(withPast ? 'decoder_with_past' : 'decoder', plan.opset, plan.dtype);
  graph.input('input_ids', 'int64', ['batch_size', withPast ? 1 : 'decoder_sequence_length']);
  if (withPast) declarePast(graph, plan, false);
  else declareAudio(graph, plan);
  decode({ graph, weights: new WeightStore(graph, plan.seed), plan }, withPast, false);
  const file = withPast ? 'decoder_with_past_model' : 'decoder_model';
  return graph.build(plan.externalData ? `${file}.onnx_data` : undefined);
}

const headDims = (plan: TinyWhisperPlan, batch: string | number, length: string | number) =>
  [batch, plan.heads, length, plan.width / plan.heads] as const;

function declareAudio(graph: GraphBuilder, plan: TinyWhisperPlan): void {
  graph.input('encoder_hidden_states', plan.dtype, ['batch_size', 'encoder_sequence_length / 2', plan.width]);
}

function declarePast(graph: GraphBuilder, plan: TinyWhisperPlan, merged: boolean): void {
  const audio = merged ? 'encoder_sequence_length_out' : 'encoder_sequence_length / 2';
  for (let i = 0; i < plan.decoderLayers; i++) {
    for (const [side, length] of [
      ['decoder', 'past_decoder_sequence_length'],
      ['encoder', audio],
    ]) {
      for (const half of ['key', 'value']) {
        graph.input(`past_key_values.${i}.${side}.${half}`, plan.dtype, headDims(plan, 'batch_size', length));
      }
    }
  }
}

/** All nodes and outputs of the first call, or of a later call. */
function decode(context: WhisperContext, withPast: boolean, merged: boolean): void {
  const { graph, plan } = context;
  const length = dimension(graph, 'input_ids', 1);
  const past = withPast ? dimension(graph, 'past_key_values.0.decoder.key', 2) : graph.ints([0]);
  const total = graph.add('Add', [past, length]);
  const mask = causalMask(context, withPast, past, total);
  const attentions: string[] = [];
  const presents: [name: string, value: string, dims: readonly (string | number)[]][] = [];
  let hidden = embed(context, past, total);
  for (let i = 0; i < plan.decoderLayers; i++) {
    const audio = withPast
      ? { k: `past_key_values.${i}.encoder.key`, v: `past_key_values.${i}.encoder.value` }
      : audioKeys(context, i);
    const extend = (fresh: string, half: 'key' | 'value'): string => {
      const pastName = `past_key_values.${i}.decoder.${half}`;
      const present = withPast ? graph.add('Concat', [pastName, fresh], { axis: 2 }) : fresh;
      const dims = headDims(plan, 'batch_size', 'past_decoder_sequence_length + 1');
      presents.push([`present.${i}.decoder.${half}`, present, dims]);
      return present;
    };
    const layer = decoderLayer(context, i, hidden, audio, extend, mask);
    hidden = layer.hidden;
    attentions.push(layer.attention);
    if (!withPast || merged) presents.push(...audioPresents(context, i, withPast ? undefined : audio));
  }
  const last = layerNorm(context, 'model.decoder.layer_norm', hidden);
  const table = graph.add('Transpose', [tokenTable(context)], { perm: [1, 0] });
  const logits = graph.add('MatMul', [last, table]);
  graph.output('logits', logits, plan.dtype, ['batch_size', 'decoder_sequence_length', plan.vocabularySize]);
  for (const [name, value, dims] of presents) graph.output(name, value, plan.dtype, dims);
  if (!plan.crossAttentions) return;
  for (const [i, attention] of attentions.entries()) {
    const dims = ['batch_size', plan.heads, 'decoder_sequence_length', 'encoder_sequence_length / 2'];
    graph.output(`cross_attentions.${i}`, attention, plan.dtype, dims);
  }
}

const dimension = (graph: GraphBuilder, value: string, axis: number): string =>
  graph.add('Gather', [graph.add('Shape', [value]), graph.ints([axis])], { axis: 0 });

const TOKENS = 'model.decoder.embed_tokens.weight';
const POSITIONS = 'model.decoder.embed_positions.weight';
const TOKEN_GAIN = 2;
/** Large, because with smaller values random weights repeat one token without end. */
const POSITION_DEVIATION = 1.5;

const tokenTable = ({ weights, plan }: WhisperContext): string =>
  weights.random(TOKENS, [plan.vocabularySize, plan.width], TOKEN_GAIN / Math.sqrt(plan.width));

/** Later positions are more similar to the embedding of end-of-text, so that texts end. */
function positionTable({ weights, plan }: WhisperContext): string {
  const { width, targetPositions, endsNear, endToken } = plan;
  return weights.values(POSITIONS, [targetPositions, width], () => {
    const table = weights.draw(POSITIONS, targetPositions * width, POSITION_DEVIATION);
    if (endsNear === undefined) return table;
    const tokens = weights.draw(TOKENS, (endToken + 1) * width, TOKEN_GAIN / Math.sqrt(width));
    const end = tokens.subarray(endToken * width);
    return table.map((value, i) => value + (END_PULL * Math.floor(i / width) * end[i % width]) / endsNear);
  });
}
/** Found by experiment: texts end around the wanted length, some earlier and some later. */
const END_PULL = 4;

function embed(context: WhisperContext, past: string, total: string): string {
  const { graph, plan } = context;
  const words = graph.add('Gather', [tokenTable(context), 'input_ids'], { axis: 0 });
  const table = positionTable(context);
  if (plan.style === 'transformers-4.33') {
    return graph.add('Add', [words, graph.add('Slice', [table, past, total, graph.ints([0])])]);
  }
  const ids = graph.unsqueeze(range(graph, past, total), [0]);
  const batch = dimension(graph, 'input_ids', 0);
  const everyRow = graph.add('Expand', [ids, graph.add('Concat', [batch, graph.ints([1])], { axis: 0 })]);
  return graph.add('Add', [words, graph.add('Gather', [table, everyRow], { axis: 0 })]);
}

const range = (graph: GraphBuilder, from: string, to: string): string => {
  const scalar = (value: string): string => graph.add('Reshape', [value, graph.ints([])]);
  return graph.add('Range', [scalar(from), scalar(to), graph.ints(1)]);
};

/** Older exports have no mask in later calls: the only new token attends to the whole past. */
function causalMask(
  { graph, plan }: WhisperContext,
  withPast: boolean,
  past: string,
  total: string,
): string | undefined {
  if (withPast && plan.style === 'transformers-4.33') return undefined;
  const columns = graph.unsqueeze(range(graph, graph.ints([0]), total), [0]);
  const rows = graph.unsqueeze(range(graph, past, total), [1]);
  const floor = graph.cast(graph.floats([1], Float32Array.of(-65_504)), plan.dtype);
  const zero = graph.cast(graph.floats([1], Float32Array.of(0)), plan.dtype);
  return graph.add('Where', [graph.add('Greater', [columns, rows]), floor, zero]);
}

/** Gives the audio more weight than the text so far; otherwise all windows would have similar texts. */
const AUDIO_GAIN = 2;

const layerName = (i: number): string => `model.decoder.layers.${i}`;

/** Keys and values of the audio, which stay the same for all calls of a window. */
function audioKeys(context: WhisperContext, i: number): { k: string; v: string } {
  const name = `${layerName(i)}.encoder_attn`;
  const audio = 'encoder_hidden_states';
  return { k: keysOrValues(context, name, 'k', audio), v: keysOrValues(context, name, 'v', audio) };
}

/** In later calls Optimum returns empty tensors here: the caller keeps those of the first call. */
function audioPresents(
  { graph, plan }: WhisperContext,
  i: number,
  audio: { k: string; v: string } | undefined,
): [string, string, readonly (string | number)[]][] {
  const dims = headDims(plan, 'batch_size_or_0', 'encoder_sequence_length_out');
  const empty = (): string =>
    graph.cast(
      graph.add('ConstantOfShape', [graph.ints([0, plan.heads, 1, plan.width / plan.heads])]),
      plan.dtype,
    );
  return [
    [`present.${i}.encoder.key`, audio?.k ?? empty(), dims],
    [`present.${i}.encoder.value`, audio?.v ?? empty(), dims],
  ];
}

function decoderLayer(
  context: WhisperContext,
  i: number,
  input: string,
  audio: { readonly k: string; readonly v: string },
  extend: (fresh: string, half: 'key' | 'value') => string,
  mask: string | undefined,
): { readonly hidden: string; readonly attention: string } {
  const { graph } = context;
  const self = `${layerName(i)}.self_attn`;
  const normal = layerNorm(context, `${layerName(i)}.self_attn_layer_norm`, input);
  const own = {
    q: queries(context, self, normal),
    k: extend(keysOrValues(context, self, 'k', normal), 'key'),
    v: extend(keysOrValues(context, self, 'v', normal), 'value'),
  };
  const withText = graph.add('Add', [input, attend(context, self, own, { mask }).output]);
  const cross = `${layerName(i)}.encoder_attn`;
  const q = queries(context, cross, layerNorm(context, `${layerName(i)}.encoder_attn_layer_norm`, withText));
  const attended = attend(context, cross, { q, ...audio }, { gain: AUDIO_GAIN });
  const both = graph.add('Add', [withText, attended.output]);
  const last = layerNorm(context, `${layerName(i)}.final_layer_norm`, both);
  const hidden = graph.add('Add', [both, feedForward(context, layerName(i), last)]);
  return { hidden, attention: attended.probabilities };
}
