/**
 * A linear layer with its bias, and the residual that is added to it:
 *
 *   x ── MatMul ── Add bias ─┐
 *   residual ────────────────┴─ Add ─┬─ sum
 *                                    └─ LayerNormalization ── result
 *
 * It becomes one of
 *
 *   MatMul ───┬─ SkipLayerNormalization ─┬─ result          MatMul ───┬─ BiasAdd ── sum
 *   residual ─┘                          └─ sum             residual ─┘
 *
 * the second where no LayerNormalization follows, for the widths of Stable Diffusion. Only CUDA has BiasAdd, and on the CPU the first takes
 * longer than what it replaces (docs/tuning.md).
 */
import { type NodeProto, toNumber } from '../schema.ts';
import { attribute } from './known-values.ts';
import { isOneDimension, isOperator, type Pattern, type ReadGraph } from './read-graph.ts';
import { floatOf, fusedNode } from './replace-nodes.ts';

const WIDTHS = [320, 640, 1280];

export const residualSums: Pattern = (graph) =>
  graph.all('Add').flatMap((sum) => {
    const terms = termsOf(graph, sum);
    if (!terms) return [];
    const { product, bias, residual, width } = terms;
    const result = sum.output?.[0] ?? '';
    const norm = graph.index.readers(result).flatMap((each) => asNorm(graph, each, result, width) ?? [])[0];
    if (norm) {
      const name = `lehr.skip-norm.${result}`;
      const ends = [
        [product, residual, ...norm.weights, bias],
        [norm.result, '', '', result],
      ] as const;
      const epsilon = floatOf('epsilon', norm.epsilon);
      return [{ at: sum, nodes: [fusedNode('SkipLayerNormalization', name, ends, [epsilon])] }];
    }
    if (!WIDTHS.includes(width)) return [];
    const ends = [[product, bias, residual], [result]] as const;
    return [{ at: sum, nodes: [fusedNode('BiasAdd', `lehr.bias-add.${result}`, ends)] }];
  });

interface Terms {
  readonly product: string;
  readonly bias: string;
  readonly residual: string;
  readonly width: number;
}

function termsOf(graph: ReadGraph, sum: NodeProto): Terms | undefined {
  const [a = '', b = ''] = sum.input ?? [];
  for (const [term, residual] of [
    [a, b],
    [b, a],
  ]) {
    const layer = graph.index.onlyReader(term) && graph.index.producedBy(graph.beforeOnes(term), 'Add');
    const bias = layer && graph.withWeight(layer, isOneDimension);
    const isLinear = bias && graph.index.producedBy(bias.other, 'MatMul');
    if (isLinear && !graph.weight(residual))
      return { product: bias.other, bias: bias.weight.name, residual, width: bias.weight.dims[0] };
  }
  return undefined;
}

interface Norm {
  /** Scale and shift. */
  readonly weights: readonly string[];
  readonly epsilon: number;
  readonly result: string;
}

/** Over the last dimension, with both weights. */
function asNorm(graph: ReadGraph, reader: NodeProto, sum: string, width: number): Norm | undefined {
  const [x, ...weights] = reader.input ?? [];
  const axis = attribute(reader, 'axis');
  const isOverLast = !axis || [-1, 2].includes(toNumber(axis.i));
  const known = weights.flatMap((each) => graph.weight(each) ?? []);
  const fits = known.length === 2 && known.every(({ dims }) => dims.join() === `${width}`);
  if (!isOperator(reader, 'LayerNormalization') || x !== sum || !isOverLast || !fits) return undefined;
  const epsilon = attribute(reader, 'epsilon')?.f ?? 1e-5;
  return { weights: known.map(({ name }) => name), epsilon, result: reader.output?.[0] ?? '' };
}
