/**
 * A CLIP text encoder that gives its earlier layers too, each with the final norm, as `clip_skip` of AUTOMATIC1111's web UI and of diffusers
 * has them. Exporters write the last layer alone.
 *
 * Every layer of CLIP adds twice to what came before: x + attention(norm(x)), and then the same with the MLP. So the states between layers
 * are found without names: they are sums of which one side depends on the other. The nodes of the final norm are copied for each of them.
 */
import {
  GraphIndex,
  type GraphProto,
  type NodeProto,
  type StoredModel,
  type ValueInfoProto,
} from '@lehr/onnx-model';

/** By the number of the layer, counted from the last one, which is 1. */
const outputName = (skip: number): string => `lehr_layer.${skip}`;

/**
 * Adds an output for each layer, and returns the names of all, the last layer first; undefined, with the graph unchanged, where the layers
 * cannot be found. Outputs other than `last` and these are left out.
 */
export function addEarlierLayers(stored: StoredModel, last: string): string[] | undefined {
  const { graph } = stored;
  const index = new GraphIndex(stored);
  const output = graph.output?.find(({ name }) => name === last);
  const states = statesOf(index, last);
  if (!output || states.length < 2) return undefined;
  const norm = between(graph, states[0], last);
  const added = states
    .slice(1)
    .map((state, i) => copyNorm(norm, { state, from: states[0], last }, outputName(i + 2)));
  graph.node = [...(graph.node ?? []), ...added.flat()];
  const outputs = added.map((_, i): ValueInfoProto => ({ ...output, name: outputName(i + 2) }));
  graph.output = [output, ...outputs];
  return graph.output.map(({ name }) => name ?? '');
}

/** What each layer gives, the last layer first. */
function statesOf(index: GraphIndex, last: string): string[] {
  const sums: string[] = [];
  for (let sum = nearestSum(index, last); sum !== undefined; sum = residualOf(index, sum)) sums.push(sum);
  // Two sums are one layer; the last in the list is the sum of token and position, which has no earlier side and so is not a layer.
  return sums.filter((_, i) => i % 2 === 0 && residualOf(index, sums[i]) !== undefined);
}

/** The nearest value before this one that is the sum of a residual and what was computed from it. */
function nearestSum(index: GraphIndex, value: string): string | undefined {
  const seen = new Set([value]);
  for (const each of seen) {
    if (residualOf(index, each) !== undefined) return each;
    for (const input of index.producer(each)?.input ?? []) if (input !== '') seen.add(input);
  }
  return undefined;
}

/** Of such a sum, the side that the other one depends on. */
function residualOf(index: GraphIndex, value: string): string | undefined {
  const sides = index.producedBy(value, 'Add')?.input ?? [];
  if (sides.length !== 2 || sides.some((side) => index.weight(side))) return undefined;
  const [a, b] = sides;
  if (ancestorsOf(index, b).has(a)) return a;
  return ancestorsOf(index, a).has(b) ? b : undefined;
}

function ancestorsOf(index: GraphIndex, value: string): Set<string> {
  const seen = new Set([value]);
  for (const each of seen) for (const input of index.producer(each)?.input ?? []) seen.add(input);
  seen.delete(value);
  return seen;
}

/** The nodes on the way from one value to another, in the order of the graph. */
function between({ node = [] }: GraphProto, from: string, to: string): NodeProto[] {
  const reached = new Set([from]);
  const after = (node ?? []).filter(({ input, output }) => {
    if (!input?.some((name) => reached.has(name))) return false;
    for (const name of output ?? []) reached.add(name);
    return true;
  });
  const needed = new Set([to]);
  return after
    .reverse()
    .filter(({ input, output }) => {
      if (!output?.some((name) => needed.has(name))) return false;
      for (const name of input ?? []) needed.add(name);
      return true;
    })
    .reverse();
}

interface Rename {
  readonly from: string;
  readonly state: string;
  readonly last: string;
}

function copyNorm(norm: readonly NodeProto[], { from, state, last }: Rename, output: string): NodeProto[] {
  const made = new Set(norm.flatMap((node) => node.output ?? []));
  const renamed = (name: string): string => {
    if (name === from) return state;
    if (name === last) return output;
    return made.has(name) ? `${output}.${name}` : name;
  };
  return norm.map((node) => ({
    ...node,
    name: `${output}.${node.name ?? ''}`,
    input: node.input?.map(renamed) ?? [],
    output: node.output?.map(renamed) ?? [],
  }));
}
