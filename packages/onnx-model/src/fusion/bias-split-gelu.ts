/**
 * GEGLU, the gate of a transformer block's feed-forward layer (arXiv 2002.05202): one half of a product, times GELU of the other half.
 *
 *   product ── Add bias ─┬─ left half ──────────────────────────────────── Mul ── result
 *                        └─ right half ─┬─ Div √2 ── Erf ── Add 1 ── Mul ── Mul 0.5 ──┘
 *                                       └───────────────────────────┘
 *
 * The halves are Slices or a Split; the factors of GELU come in any order, or as one node Gelu. It becomes
 *
 *   product ── BiasSplitGelu ── result
 *
 * which CUDA has for the widths of Stable Diffusion.
 */
import { type NodeProto, toNumber } from '../schema.ts';
import { attribute } from './known-values.ts';
import { isOneDimension, isOperator, type Pattern, type ReadGraph } from './read-graph.ts';
import { fusedNode } from './replace-nodes.ts';

/** Of both halves together. */
const WIDTHS = [2560, 5120, 10_240];

export const biasSplitGelus: Pattern = (graph) =>
  graph.all('Mul').flatMap((product) => {
    const halves = gated(graph, product);
    const part = graph.index.producer(halves?.left ?? '');
    const sum = graph.index.producedBy(part?.input?.[0] ?? '', 'Add');
    const bias = sum && graph.withWeight(sum, isOneDimension);
    const width = bias?.weight.dims[0] ?? 0;
    if (!halves || !bias || !WIDTHS.includes(width) || !areHalves(graph, halves, width)) return [];
    const result = product.output?.[0] ?? '';
    const ends = [[bias.other, bias.weight.name], [result]] as const;
    return [{ at: product, nodes: [fusedNode('BiasSplitGelu', `lehr.gate.${result}`, ends)] }];
  });

interface Halves {
  readonly left: string;
  readonly right: string;
}

function gated(graph: ReadGraph, product: NodeProto): Halves | undefined {
  const factors = factorsOf(graph, product);
  const numbers = factors.flatMap((factor) => graph.known.scalar(factor) ?? []);
  const others = factors.filter((factor) => graph.known.scalar(factor) === undefined);
  const scale = numbers.reduce((a, b) => a * b, 1);
  for (const factor of others) {
    const gelu = graph.index.producedBy(factor, 'Gelu');
    const approximates = gelu && attribute(gelu, 'approximate')?.s;
    const isExact = !approximates?.length || Buffer.from(approximates).toString() === 'none';
    const right = gelu ? gelu.input?.[0] : erfOf(graph, factor);
    // GELU of x is x / 2 times what erfOf looks for.
    const rest = others.filter((each) => each !== factor && (gelu || each !== right));
    const isWhole = gelu ? isExact && scale === 1 : others.length === 3 && scale === 0.5;
    if (right !== undefined && isWhole && rest.length === 1) return { left: rest[0], right };
  }
  return undefined;
}

/** Of a product of products that nothing else reads. */
function factorsOf(graph: ReadGraph, product: NodeProto, hops = 4): string[] {
  return (product.input ?? []).flatMap((factor) => {
    const inner = graph.index.onlyReader(factor) && graph.index.producedBy(factor, 'Mul');
    return inner && hops > 0 ? factorsOf(graph, inner, hops - 1) : [factor];
  });
}

/** The x of erf(x / √2) + 1. */
function erfOf({ index, known }: ReadGraph, value: string): string | undefined {
  const terms = index.producedBy(value, 'Add')?.input ?? [];
  const erf = terms.map((term) => index.producedBy(term, 'Erf')).find((each) => each !== undefined);
  if (!erf || !terms.some((term) => known.scalar(term) === 1)) return undefined;
  const scaled = index.producer(erf.input?.[0] ?? '');
  const [x = '', by = ''] = scaled?.input ?? [];
  const number = known.scalar(by) ?? 0;
  const divisor = isOperator(scaled, 'Div') ? number : isOperator(scaled, 'Mul') ? 1 / number : 0;
  // As exact as half precision is.
  return Math.abs(divisor / Math.SQRT2 - 1) < 1e-3 ? x : undefined;
}

function areHalves(graph: ReadGraph, { left, right }: Halves, width: number): boolean {
  const [a, b] = [graph.index.producer(left), graph.index.producer(right)];
  if (a?.input?.[0] !== b?.input?.[0]) return false;
  if (isOperator(a, 'Split')) return a === b && isSplitInTwo(graph, a, [left, right], width / 2);
  return isPart(graph, a, [0, width / 2]) && isPart(graph, b, [width / 2, width]);
}

/** Of [rows, tokens, width]. */
const isLast = (axis: number): boolean => axis === -1 || axis === 2;

function isSplitInTwo(graph: ReadGraph, split: NodeProto, parts: readonly string[], half: number): boolean {
  const axis = toNumber(attribute(split, 'axis')?.i);
  const sizes =
    graph.known.elements(split.input?.[1] ?? '') ?? attribute(split, 'split')?.ints?.map(toNumber);
  const isEven = !sizes?.length || sizes.every((size) => size === half);
  return isLast(axis) && isEven && parts.join() === split.output?.join();
}

function isPart({ known }: ReadGraph, slice: NodeProto | undefined, [from, to]: readonly number[]): boolean {
  const [, start = '', end = '', axis = '', step = ''] = slice?.input ?? [];
  const isPlain = isLast(known.scalar(axis) ?? 0) && (step === '' || known.scalar(step) === 1);
  // Exporters may write the largest integer for the end.
  return (
    isOperator(slice, 'Slice') &&
    isPlain &&
    known.scalar(start) === from &&
    (from === 0 ? known.scalar(end) === to : (known.scalar(end) ?? 0) >= to)
  );
}
