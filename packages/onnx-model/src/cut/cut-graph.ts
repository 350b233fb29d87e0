/**
 * Cuts a graph into pieces that run one after the other. A cut is where all that follows needs a single value of what is before:
 *
 *   input ── Conv ─┬─ Norm ── Conv ── Add ──▸ value │ value ──▸ Resize ── Conv ── output
 *                  └─────────────────┘              │
 *
 * Each node is in one piece, and so is each weight that is not read on both sides. Constants, and what is computed from them and from the shape of
 * the graph's inputs alone, are in every piece that reads them.
 */
import { readBy } from '../fusion/graph-index.ts';
import type { NodeProto } from '../schema.ts';
import type { StoredModel, StoredTensor } from '../stored-model.ts';
import { type Cut, chooseCuts } from './choose-cuts.ts';
import { Estimate } from './estimate.ts';

/** Nodes and weights of a graph, which are also those of the graph. */
export interface GraphPiece {
  /** The value that the piece before has made; absent in the first. */
  readonly given?: string;
  /** What the next piece needs, or the graph's output. */
  readonly made: string;
  readonly nodes: readonly NodeProto[];
  readonly initializers: readonly StoredTensor[];
  /** Of the only piece, why it is the only one. */
  readonly whole?: string;
}

/**
 * The fewest pieces of which each takes at most `share` of the estimated cost, as far as the graph can be cut so finely. What they hand over has the
 * type and the rank of the graph's output, and is not added to something as it is: ONNX Runtime makes such a sum in the layout and the order of the
 * convolution before it, and the results of the pieces would differ in their last bits. One piece when the graph cannot be cut, or has several outputs.
 * Changes nothing.
 */
export function cutGraph(stored: StoredModel, share: number): GraphPiece[] {
  const { fixed, nodes } = inOrder(stored);
  const estimate = new Estimate(stored);
  for (const node of fixed) estimate.visit(node);
  const costs = nodes.map((node) => estimate.visit(node));
  const found = findCuts(stored, nodes, estimate);
  const chosen = typeof found === 'string' ? [] : chooseCuts(costs, found, share);
  const whole = typeof found === 'string' ? found : 'a piece of that share is the whole';
  return [...chosen, undefined].map((end, i) => {
    const begin = i === 0 ? undefined : chosen[i - 1];
    const own = nodes.slice((begin?.after ?? -1) + 1, (end?.after ?? nodes.length) + 1);
    const made = end?.value ?? stored.graph.output?.[0]?.name ?? '';
    const piece = { ...pieceOf(stored, fixed, own, made), made, ...(begin && { given: begin.value }) };
    return chosen.length > 0 ? piece : { ...piece, whole };
  });
}

/** Where the graph can be cut, or why nowhere. */
function findCuts(stored: StoredModel, nodes: readonly NodeProto[], estimate: Estimate): Cut[] | string {
  const [output, ...more] = stored.graph.output ?? [];
  if (more.length > 0) return `it has ${more.length + 1} outputs`;
  const { elemType, shape } = output?.type?.tensorType ?? {};
  if (!elemType || !shape) return `its file says no type or shape of its output ${output?.name}`;
  const added = new Set(nodes.flatMap(({ opType, input }) => (opType === 'Add' ? (input ?? []) : [])));
  const cuts: Cut[] = [];
  const problems: string[] = [];
  for (const { value, after } of placesToCut(stored, nodes)) {
    const { type, rank, elements: size } = estimate.of(value);
    if (added.has(value)) problems.push(`${value} is added to another as it is`);
    else if (rank === undefined) problems.push(`the rank of ${value} is not known`);
    else if (type !== elemType || rank !== shape.dim?.length)
      problems.push(`${value} has another type or rank than the output`);
    else cuts.push({ value, after, size });
  }
  if (cuts.length > 0) return cuts;
  if (problems.length === 0) return 'nowhere does all that follows need a single value';
  const rest = problems.length > 3 ? `; and ${problems.length - 3} more` : '';
  return `nowhere can a value be handed over: ${problems.slice(0, 3).join('; ')}${rest}`;
}

interface Ordered {
  /** Those whose results depend on no element of the graph's inputs. */
  readonly fixed: readonly NodeProto[];
  readonly nodes: readonly NodeProto[];
}

/** Each after those that it reads, which not every file keeps to. Throws when the nodes are in a circle. */
function inOrder({ graph, initializers }: StoredModel): Ordered {
  const fixedValues = new Set(['', ...initializers.map(({ tensor }) => tensor.name ?? '')]);
  const inputs = (graph.input ?? []).map(({ name }) => name ?? '').filter((name) => !fixedValues.has(name));
  const known = new Set([...fixedValues, ...inputs]);
  const [fixed, nodes]: [NodeProto[], NodeProto[]] = [[], []];
  let waiting = graph.node ?? [];
  while (waiting.length > 0) {
    const later: NodeProto[] = [];
    for (const node of waiting) {
      const own = ownNames(node);
      const read = readBy(node).filter((name) => !own.has(name));
      if (!read.every((name) => known.has(name))) {
        later.push(node);
        continue;
      }
      const isFixed =
        isShapeOf(node, inputs) || (isRepeatable(node) && read.every((name) => fixedValues.has(name)));
      (isFixed ? fixed : nodes).push(node);
      for (const output of node.output ?? []) {
        known.add(output);
        if (isFixed) fixedValues.add(output);
      }
    }
    if (later.length === waiting.length)
      throw new Error('The nodes of the graph read each other in a circle.');
    waiting = later;
  }
  return { fixed, nodes };
}

/** What the branches of a node make themselves. */
const ownNames = (node: NodeProto): Set<string> =>
  new Set(
    (node.attribute ?? [])
      .flatMap(({ g, graphs }) => [g, ...(graphs ?? [])])
      .flatMap((branch) => [
        ...(branch?.node ?? []).flatMap((inner) => [...(inner.output ?? []), ...ownNames(inner)]),
        ...(branch?.input ?? []).map(({ name }) => name ?? ''),
        ...(branch?.initializer ?? []).map(({ name }) => name ?? ''),
      ]),
  );

const isShapeOf = ({ opType, domain, input }: NodeProto, inputs: readonly string[]): boolean =>
  opType === 'Shape' && !domain && inputs.includes(input?.[0] ?? '');

/** Noise that is drawn twice would be two different ones. */
const isRepeatable = ({ opType }: NodeProto): boolean =>
  !opType?.startsWith('Random') && opType !== 'Multinomial' && opType !== 'Bernoulli';

interface Place {
  readonly value: string;
  /** The index of the node after which only this value is needed. */
  readonly after: number;
}

function placesToCut({ graph, initializers }: StoredModel, nodes: readonly NodeProto[]): Place[] {
  const outputs = (graph.output ?? []).map(({ name }) => name ?? '');
  const lastReader = new Map<string, number>(outputs.map((name) => [name, nodes.length]));
  for (const [i, node] of nodes.entries()) {
    for (const name of readBy(node)) if (!outputs.includes(name)) lastReader.set(name, i);
  }
  const weights = new Set(initializers.map(({ tensor }) => tensor.name ?? ''));
  // Files of old opsets list their weights among the inputs; each piece has its own.
  const inputs = (graph.input ?? []).map(({ name }) => name ?? '').filter((name) => !weights.has(name));
  const live = new Set(inputs.filter((name) => lastReader.has(name)));
  const places: Place[] = [];
  for (const [i, node] of nodes.entries()) {
    for (const name of [...readBy(node)]) if (lastReader.get(name) === i) live.delete(name);
    for (const name of node.output ?? []) if ((lastReader.get(name) ?? -1) > i) live.add(name);
    const [value] = live;
    if (live.size === 1 && !outputs.includes(value) && !inputs.includes(value))
      places.push({ value, after: i });
  }
  return places;
}

function pieceOf(
  { initializers }: StoredModel,
  fixed: readonly NodeProto[],
  nodes: readonly NodeProto[],
  made: string,
): Pick<GraphPiece, 'nodes' | 'initializers'> {
  const read = new Set([...nodes.flatMap(readBy), made]);
  const shared: NodeProto[] = [];
  for (const node of fixed.toReversed()) {
    if (!node.output?.some((name) => read.has(name))) continue;
    shared.unshift(node);
    for (const name of readBy(node)) read.add(name);
  }
  return {
    nodes: [...shared, ...nodes],
    initializers: initializers.filter(({ tensor }) => read.has(tensor.name ?? '')),
  };
}
