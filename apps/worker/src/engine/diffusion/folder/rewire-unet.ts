/**
 * Gives a UNet one timestep per row. Exporters trace diffusers' `timesteps[None].expand(sample.shape[0])` with a
 * scalar: an Unsqueeze turns it into [1], an Expand copies it to every row of the batch. Declared as [batch] and with
 * the Unsqueeze replaced by an Identity, the input passes through the Expand unchanged, so each row keeps its own
 * timestep. Every other node works row by row already; load-rows.ts checks that on the loaded session.
 */
import {
  type Dimension,
  type GraphProto,
  type NodeProto,
  readStoredModel,
  type StoredModel,
  type StoredTensor,
  type TensorProto,
  toNumber,
  type ValueInfoProto,
  withFileSource,
  writeStoredModel,
} from '@lehr/onnx-model';
import { toLehrError } from '@lehr/shared';
import { weightsPlace } from '../../runtime/external-data.ts';
import type { GraphSource } from '../../runtime/runtime.ts';
import { named, type UnetInputNames, unetInputNames } from '../conditioning.ts';

/** A further change of the graph, such as inputs for what rows may have beside latent and prompt; made in place, before it is loaded. */
export type UnetRewrite = (stored: StoredModel) => void;

export type Rewiring =
  /** The file already takes one timestep per row. */
  | { readonly outcome: 'as-is' }
  /** `bytes` is the new model; its weights stay where the file has them. `nodes` are the ones made Identity. */
  | { readonly outcome: 'rewired'; readonly bytes: Uint8Array; readonly nodes: readonly string[] }
  | { readonly outcome: 'impossible'; readonly reason: string };

/**
 * Rewrites the graph part of the file in memory; writes no file, and reads no weights: `bytes` refers to those inside the file too.
 * Only of a link are they copied. `beside`: names of inputs that it may have beside those of a UNet. Throws when the file is not an ONNX model,
 * and what a further rewrite throws.
 */
export function rewireTimestep(
  path: string,
  rewrites: readonly UnetRewrite[] = [],
  beside: readonly string[] = [],
): Rewiring {
  return withFileSource(path, (source) => {
    const stored = readStoredModel(source);
    const plan = planRewiring(stored, beside);
    if (plan.outcome === 'impossible') return plan;
    if (plan.outcome === 'as-is' && rewrites.length === 0) return plan;
    const lifts = plan.outcome === 'possible' ? plan.lifts : [];
    if (plan.outcome === 'possible') apply(plan, stored.graph);
    for (const rewrite of rewrites) rewrite(stored);
    const nodes = lifts.map((node) => node.name || node.opType || 'unnamed');
    return { outcome: 'rewired', bytes: writeStoredModel(stored, source, weightsPlace(path)), nodes };
  });
}

/** The graph with these changes and one timestep for all rows, as its file has it. */
export function withRewrites(path: string, rewrites: readonly UnetRewrite[]): GraphSource {
  if (rewrites.length === 0) return { path };
  return withFileSource(path, (source) => {
    const stored = readStoredModel(source);
    for (const rewrite of rewrites) rewrite(stored);
    return { path, bytes: writeStoredModel(stored, source, weightsPlace(path)) };
  });
}

interface PossibleRewiring {
  readonly outcome: 'possible';
  readonly timestep: ValueInfoProto;
  /** First dimension of the sample, which the timestep gets too. */
  readonly batch: Dimension;
  /** The nodes that turn the scalar into [1]. */
  readonly lifts: readonly NodeProto[];
}

/** Changes nothing. */
function planRewiring(
  { graph, initializers }: StoredModel,
  beside: readonly string[],
): PossibleRewiring | Exclude<Rewiring, { outcome: 'rewired' }> {
  const names = inputNames(graph, initializers, beside);
  if ('reason' in names) return impossible(names.reason);
  const batch = dimsOf(inputNamed(graph, names.sample))?.[0];
  const timestep = inputNamed(graph, names.timestep);
  const timestepDims = dimsOf(timestep);
  if (!batch) return impossible('the graph has no input "sample" with a batch dimension');
  if (!timestep || !timestepDims) return impossible('the graph has no input "timestep" of known rank');
  if (timestepDims.length > 1)
    return impossible(`"timestep" is of rank ${timestepDims.length}, wanted 0 or 1`);
  if (timestepDims.length === 1) {
    return sameDimension(timestepDims[0], batch)
      ? { outcome: 'as-is' }
      : { outcome: 'possible', timestep, batch, lifts: [] };
  }
  const found = findLifts(names.timestep, graph, initializers);
  return 'reason' in found
    ? impossible(found.reason)
    : { outcome: 'possible', timestep, batch, lifts: found.lifts };
}

/** Edits in place: copies of these messages would lose the fields unknown to the codec, which it keeps. */
function apply({ timestep, batch, lifts }: PossibleRewiring, graph: GraphProto): void {
  if (timestep.type?.tensorType) timestep.type.tensorType.shape = { dim: [batch] };
  for (const node of lifts) {
    // The output keeps its name, so the nodes that read it need no change.
    node.opType = 'Identity';
    node.input = node.input?.slice(0, 1);
    node.attribute = [];
  }
  // Recorded shapes that say [1] where there are rows now; ONNX Runtime infers them again.
  const stale = reachedFrom(graph, timestep.name ?? '');
  graph.valueInfo = graph.valueInfo?.filter(({ name }) => !stale.has(name ?? ''));
}

const impossible = (reason: string): { outcome: 'impossible'; reason: string } => ({
  outcome: 'impossible',
  reason,
});

function inputNames(
  graph: GraphProto,
  initializers: readonly StoredTensor[],
  beside: readonly string[],
): UnetInputNames | { readonly reason: string } {
  // Files of old opsets list their weights among the inputs.
  const weights = new Set(initializers.map(({ tensor }) => tensor.name));
  const inputs = (graph.input ?? [])
    .filter(({ name }) => !weights.has(name))
    .map((input) => ({ name: input.name ?? '', rank: dimsOf(input)?.length }));
  const others = beside.map((name) => named(inputs, name));
  try {
    return unetInputNames(inputs.filter((input) => !others.includes(input)));
  } catch (error) {
    return { reason: toLehrError(error, 'model-unavailable').message };
  }
}

const inputNamed = (graph: GraphProto, name: string) => graph.input?.find((input) => input.name === name);
const dimsOf = (input: ValueInfoProto | undefined) => input?.type?.tensorType?.shape?.dim;

const sameDimension = (a: Dimension, b: Dimension): boolean =>
  (a.dimParam ?? '') === (b.dimParam ?? '') && toNumber(a.dimValue) === toNumber(b.dimValue);

/** Follows the scalar through nodes that keep its shape to the nodes that turn it into [1]. */
function findLifts(
  timestep: string,
  graph: GraphProto,
  initializers: readonly StoredTensor[],
): { readonly lifts: readonly NodeProto[] } | { readonly reason: string } {
  const scalars = [timestep];
  const lifts: NodeProto[] = [];
  for (let i = 0; i < scalars.length; i += 1) {
    const scalar = scalars[i];
    if (graph.output?.some(({ name }) => name === scalar))
      return { reason: `"${scalar}" is an output of the graph` };
    for (const node of graph.node ?? []) {
      if (isCapturedBy(node, scalar)) return { reason: `a subgraph of ${node.name} uses "${scalar}"` };
      if (!node.input?.includes(scalar)) continue;
      const isFirst = node.input.indexOf(scalar) === 0;
      if (isFirst && (node.opType === 'Cast' || node.opType === 'Identity'))
        scalars.push(...(node.output ?? []));
      else if (isFirst && liftsToRankOne(node, graph, initializers)) lifts.push(node);
      else if (!isFirst || node.opType !== 'Expand') {
        return {
          reason: `"${scalar}" goes into the ${node.opType} ${node.name}, wanted Unsqueeze, Reshape or Expand`,
        };
      }
    }
  }
  return { lifts };
}

function isCapturedBy(node: NodeProto, name: string): boolean {
  const graphs = (node.attribute ?? []).flatMap(({ g, graphs: more }) => [
    ...(g ? [g] : []),
    ...(more ?? []),
  ]);
  const inner = graphs.flatMap((graph) => graph.node ?? []);
  return inner.some((innerNode) => innerNode.input?.includes(name) || isCapturedBy(innerNode, name));
}

/** For a scalar, one axis or a shape of one number can only give [1], whatever the number is. */
function liftsToRankOne(node: NodeProto, graph: GraphProto, initializers: readonly StoredTensor[]): boolean {
  if (node.opType !== 'Unsqueeze' && node.opType !== 'Reshape') return false;
  // Before opset 13 the axes of an Unsqueeze are an attribute, before opset 5 the shape of a Reshape is.
  const attribute = node.attribute?.find(({ name }) => name === 'axes' || name === 'shape');
  if (attribute) return attribute.ints?.length === 1;
  return lengthOf(node.input?.[1], graph, initializers) === 1;
}

/** Length of a constant vector; undefined when the value is not constant. */
function lengthOf(
  name: string | undefined,
  graph: GraphProto,
  initializers: readonly StoredTensor[],
): number | undefined {
  const initializer = initializers.find(({ tensor }) => tensor.name === name)?.tensor;
  if (initializer) return vectorLength(initializer);
  const constant = graph.node?.find((node) => node.opType === 'Constant' && node.output?.[0] === name);
  const value = constant?.attribute?.find(
    (attribute) => attribute.name === 'value' || attribute.name === 'value_ints',
  );
  return value?.t ? vectorLength(value.t) : value?.ints?.length;
}

const vectorLength = ({ dims }: TensorProto): number | undefined =>
  dims?.length === 1 ? toNumber(dims[0]) : undefined;

/** Every value that depends on `start`. Nodes are listed in the order in which they run, so one pass finds all. */
function reachedFrom(graph: GraphProto, start: string): Set<string> {
  const reached = new Set([start]);
  for (const node of graph.node ?? []) {
    if (!node.input?.some((name) => reached.has(name))) continue;
    for (const output of node.output ?? []) reached.add(output);
  }
  return reached;
}
