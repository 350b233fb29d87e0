/** Puts nodes of ONNX Runtime's own operators in the place of nodes of a graph. */
import { ATTRIBUTE_TYPE, type AttributeProto, type ModelProto, type NodeProto } from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';
import { readBy } from './graph-index.ts';

/** Of ONNX Runtime's own operators. */
export const FUSED_DOMAIN = 'com.microsoft';

export interface Replacement {
  /** The node of the graph that the new ones come before: all that they read is made above it. */
  readonly at: NodeProto;
  /** What one of them makes, no other node makes any more. */
  readonly nodes: readonly NodeProto[];
}

/** Changes the graph in place, and takes out every node whose results nothing reads any more. */
export function replaceNodes({ graph, model }: StoredModel, replacements: readonly Replacement[]): void {
  const newAt = new Map<NodeProto, NodeProto[]>();
  for (const { at, nodes } of replacements) newAt.set(at, [...(newAt.get(at) ?? []), ...nodes]);
  const remade = new Set(outputsOf([...newAt.values()].flat()));
  const isRemade = ({ output }: NodeProto): boolean => (output ?? []).some((value) => remade.has(value));
  const nodes = (graph.node ?? []).flatMap((node) => [
    ...(newAt.get(node) ?? []),
    ...(isRemade(node) ? [] : [node]),
  ]);
  graph.node = usedNodes(
    nodes,
    (graph.output ?? []).map(({ name }) => name ?? ''),
  );
  const made = new Set(outputsOf(graph.node));
  graph.valueInfo = graph.valueInfo?.filter(({ name }) => made.has(name ?? ''));
  model.opsetImport = withFusedOperators(model.opsetImport);
}

export function withFusedOperators(
  imports: ModelProto['opsetImport'],
): NonNullable<ModelProto['opsetImport']> {
  const known = imports ?? [];
  return known.some(({ domain }) => domain === FUSED_DOMAIN)
    ? known
    : [...known, { domain: FUSED_DOMAIN, version: 1 }];
}

const outputsOf = (nodes: readonly NodeProto[]): string[] =>
  nodes.flatMap(({ output }) => (output ?? []).filter((value) => value !== ''));

/** Those that the outputs of the graph need. Not every file has a node after the nodes that it reads. */
function usedNodes(nodes: readonly NodeProto[], outputs: readonly string[]): NodeProto[] {
  const producers = new Map(nodes.flatMap((node) => (node.output ?? []).map((output) => [output, node])));
  const used = new Set<NodeProto>();
  const needed = [...outputs];
  for (let value = needed.pop(); value !== undefined; value = needed.pop()) {
    const node = producers.get(value);
    if (!node || used.has(node)) continue;
    used.add(node);
    needed.push(...readBy(node));
  }
  return nodes.filter((node) => used.has(node));
}

/** One of ONNX's own operators, with one result. */
export const node = (
  opType: string,
  input: readonly string[],
  output: string,
  attribute: AttributeProto[] = [],
): NodeProto => ({ opType, name: output, input: [...input], output: [output], attribute });

/** One of ONNX Runtime's own operators. */
export const fusedNode = (
  opType: string,
  name: string,
  [input, output]: readonly [input: readonly string[], output: readonly string[]],
  attribute: AttributeProto[] = [],
): NodeProto => ({
  domain: FUSED_DOMAIN,
  opType,
  name,
  input: [...input],
  output: [...output],
  attribute,
});

export const intOf = (name: string, i: number): AttributeProto => ({ name, type: ATTRIBUTE_TYPE.int, i });
export const floatOf = (name: string, f: number): AttributeProto => ({ name, type: ATTRIBUTE_TYPE.float, f });

const order = (perm: readonly number[]): AttributeProto[] => [
  { name: 'perm', type: ATTRIBUTE_TYPE.ints, ints: [...perm] },
];
/** From [batch, channels, height, width] to [batch, height, width, channels], and back. ONNX Runtime takes out those that cancel each other. */
export const channelsLast = (value: string, to: string): NodeProto =>
  node('Transpose', [value], to, order([0, 2, 3, 1]));
export const channelsFirst = (value: string, to: string): NodeProto =>
  node('Transpose', [value], to, order([0, 3, 1, 2]));
