/**
 * A processor without VNNI adds two products of uint8 and int8 in 16 bits, which overflow with weights beyond 64: an int8 export then
 * answers differently there. ONNX Runtime can compute such weights as uint8 (`EXACT_INT8`), but not those that a branch takes from the
 * graph around it, as the merged decoders of Whisper do. For these the graph is rewritten, on such processors only:
 *
 *   weight (int8) --- MatMulInteger        weight - Cast - Add 128 - Cast (uint8) --- MatMulInteger, zero point + 128
 *
 * ONNX Runtime computes the three nodes once, at load.
 */
import { readFileSync } from 'node:fs';
import {
  ATTRIBUTE_TYPE,
  DATA_TYPE,
  type GraphProto,
  memorySource,
  type NodeProto,
  type StoredModel,
  type TensorProto,
  withFileSource,
  writeStoredModel,
} from '@lehr/onnx-model';
import { readGraph, weightsPlace } from './external-data.ts';
import type { GraphSource } from './runtime.ts';

/** For a session: weights beyond 64 are computed as uint8 where the processor needs it, from the level `extended` of optimization on. */
export const EXACT_INT8 = { x64quantprecision: '1' };

/** The source, or the rewritten graph of it where the processor and the graph need that. */
export function withExactBranches(source: GraphSource, overflows = processorOverflows()): GraphSource {
  if (!overflows) return source;
  const stored = readGraph(source);
  if (!rewrite(stored)) return source;
  const { bytes, path } = source;
  return {
    ...source,
    bytes: bytes
      ? writeStoredModel(stored, memorySource(bytes))
      : withFileSource(path, (file) => writeStoredModel(stored, file, weightsPlace(path))),
  };
}

/** Linux lists the instructions; elsewhere an x64 processor is taken for one without VNNI, which costs a little speed at most. */
function processorOverflows(): boolean {
  if (process.arch !== 'x64') return false;
  return process.platform !== 'linux' || !/\bavx(512)?_vnni\b/.test(readFileSync('/proc/cpuinfo', 'utf8'));
}

/** Returns false, with nothing changed, when no branch multiplies by an int8 weight of the whole graph. */
function rewrite({ graph, initializers }: StoredModel): boolean {
  const weights = int8Names(initializers.map(({ tensor }) => tensor));
  const shifted = new Set(branchesOf(graph).flatMap((branch) => rewriteBranch(branch, weights)));
  if (shifted.size === 0) return false;
  const constants = [
    constant(OFFSET, DATA_TYPE.int32, [128, 0, 0, 0]),
    constant(NO_ZERO, DATA_TYPE.uint8, [128]),
  ];
  graph.node = [...constants, ...[...shifted].flatMap(shift), ...(graph.node ?? [])];
  return true;
}

/** Makes the products of the branch read the shifted weights. Returns the names of these weights; zero points are shifted here. */
function rewriteBranch(branch: GraphProto, weights: ReadonlySet<string>): string[] {
  const ownZeros = int8Names(branch.initializer ?? []);
  const zeros = new Set<string>();
  const found: string[] = [];
  for (const node of branch.node ?? []) {
    const [values, weight, valuesZero = '', zero = ''] = node.input ?? [];
    if (node.opType !== 'MatMulInteger' || !weights.has(weight)) continue;
    if (zero && !ownZeros.has(zero) && !weights.has(zero)) continue;
    node.input = [values, shiftedName(weight), valuesZero, zero ? shiftedName(zero) : NO_ZERO];
    found.push(weight);
    if (ownZeros.has(zero)) zeros.add(zero);
    else if (zero) found.push(zero);
  }
  branch.node = [...[...zeros].flatMap(shift), ...(branch.node ?? [])];
  return [...found, ...branchesOf(branch).flatMap((inner) => rewriteBranch(inner, weights))];
}

const branchesOf = ({ node }: GraphProto): GraphProto[] =>
  (node ?? []).flatMap(({ attribute }) => attribute?.flatMap(({ g }) => g ?? []) ?? []);

const int8Names = (tensors: readonly TensorProto[]): Set<string> =>
  new Set(tensors.filter(({ dataType }) => dataType === DATA_TYPE.int8).map(({ name }) => name ?? ''));

const OFFSET = 'lehr.int8.offset';
/** What a product without a zero point for its weights gets. */
const NO_ZERO = 'lehr.int8.zero';
const shiftedName = (name: string): string => `${name}.lehr.uint8`;

function shift(name: string): NodeProto[] {
  const [wide, sum, to] = [`${name}.lehr.int32`, `${name}.lehr.shifted`, shiftedName(name)];
  return [
    { opType: 'Cast', name: wide, input: [name], output: [wide], attribute: [castTo(DATA_TYPE.int32)] },
    { opType: 'Add', name: sum, input: [wide, OFFSET], output: [sum] },
    { opType: 'Cast', name: to, input: [sum], output: [to], attribute: [castTo(DATA_TYPE.uint8)] },
  ];
}

const castTo = (type: number) => ({ name: 'to', type: ATTRIBUTE_TYPE.int, i: type });

function constant(name: string, dataType: number, raw: readonly number[]): NodeProto {
  const t = { dims: [], dataType, rawData: Uint8Array.from(raw) };
  return {
    opType: 'Constant',
    name,
    output: [name],
    attribute: [{ name: 'value', type: ATTRIBUTE_TYPE.tensor, t }],
  };
}
