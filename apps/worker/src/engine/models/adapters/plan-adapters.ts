/** Decides which modules of a graph get which matrices of which adapters. Pure: it reads no values. */
import { type NodeProto, type StoredModel, toNumber } from '@lehr/onnx-model';
import { hasIntegers, weightPlaces } from '../weights/weight-places.ts';
import { type AdapterPart, moduleKey } from './adapter-names.ts';
import type { AdapterFile, LowRank } from './read-adapter.ts';

const KINDS = ['MatMul', 'Gemm', 'Conv'] as const;

/** A linear layer or a convolution of a graph. */
export interface AdaptableModule {
  /** The nodes that compute it. */
  readonly nodes: readonly NodeProto[];
  readonly kind: (typeof KINDS)[number];
  readonly path: string;
  readonly inputs: number;
  readonly outputs: number;
  /** The graph has its outputs in columns. */
  readonly isTransposed: boolean;
  /** Of a convolution. */
  readonly kernel: readonly number[];
  /** TensorProto.DataType of its weight. */
  readonly type: number;
}

export interface NamedAdapter extends AdapterFile {
  /** As models.yaml names it. */
  readonly name: string;
}

/** One adapter's part of a module. */
export interface PlannedShare {
  readonly lowRank: LowRank;
  readonly adapter: NamedAdapter;
  /** Of the scales of a row. */
  readonly column: number;
}

export interface PlannedModule {
  readonly module: AdaptableModule;
  readonly shares: readonly PlannedShare[];
}

export interface AdapterPlan {
  readonly modules: readonly PlannedModule[];
  /** The names of the adapters that change this graph; a row has a scale for each. */
  readonly columns: readonly string[];
  /** Why an adapter cannot be used, by its name: a predicate of its file. */
  readonly problems: ReadonlyMap<string, string>;
}

/** The layers of a graph that adapters can change, by `moduleKey`. */
export function adaptableModules(stored: StoredModel, part: AdapterPart): Map<string, AdaptableModule> {
  const own = new Set(stored.graph.node);
  const modules = new Map<string, AdaptableModule>();
  for (const { node, input, dims, type, candidates } of weightPlaces(stored)) {
    const kind = KINDS.find((each) => each === node.opType);
    // Branches of the graph see none of what is computed for it.
    if (!kind || input !== 1 || !own.has(node) || dims.length < 2 || attribute(node, 'group', 1) !== 1)
      continue;
    const path = candidates[0].name.replace(/\.weight$/, '');
    const key = moduleKey(part, path);
    const known = modules.get(key);
    const isTransposed = kind === 'MatMul' || (kind === 'Gemm' && attribute(node, 'transB', 0) === 0);
    const [outputs, inputs] = isTransposed ? dims.toReversed() : dims;
    const module = { kind, path, inputs, outputs, isTransposed, kernel: dims.slice(2), type };
    modules.set(key, { ...module, nodes: [...(known?.nodes ?? []), node] });
  }
  return modules;
}

const attribute = ({ attribute: all }: NodeProto, name: string, otherwise: number): number => {
  const found = all?.find((each) => each.name === name);
  return found ? toNumber(found.i) : otherwise;
};

/** `adapters` are those that may be used. One that does not fit is left out, and named in `problems`. */
export function planAdapters(
  stored: StoredModel,
  part: AdapterPart,
  adapters: readonly NamedAdapter[],
): AdapterPlan {
  const modules = adaptableModules(stored, part);
  const problems = new Map<string, string>();
  const fitting: { readonly adapter: NamedAdapter; readonly fits: readonly Fit[] }[] = [];
  for (const adapter of adapters) {
    const own = adapter.modules.filter((each) => each.part === part);
    const problem =
      own.length > 0 && hasIntegers(stored.graph) ? inIntegers(part) : misfit(own, modules, part);
    if (problem !== undefined) problems.set(adapter.name, problem);
    const fits = own.flatMap((lowRank) => {
      const module = modules.get(lowRank.module);
      return module ? [{ lowRank, module }] : [];
    });
    if (problem === undefined && fits.length > 0) fitting.push({ adapter, fits });
  }
  const planned = new Map<AdaptableModule, PlannedShare[]>();
  for (const [column, { adapter, fits }] of fitting.entries())
    for (const { lowRank, module } of fits)
      planned.set(module, [...(planned.get(module) ?? []), { lowRank, adapter, column }]);
  return {
    modules: [...planned].map(([module, shares]) => ({ module, shares })),
    columns: fitting.map(({ adapter }) => adapter.name),
    problems,
  };
}

interface Fit {
  readonly lowRank: LowRank;
  readonly module: AdaptableModule;
}

const inIntegers = (part: AdapterPart): string =>
  `cannot be used with this version: its ${part} is in int8; use its float32 or float16 form`;

/** A linear layer of a file may be a convolution of size 1 in the graph, and the other way round. */
function misfit(
  lowRanks: readonly LowRank[],
  modules: ReadonlyMap<string, AdaptableModule>,
  part: AdapterPart,
): string | undefined {
  for (const { module: key, down, up } of lowRanks) {
    const module = modules.get(key);
    if (!module) continue;
    const is = [up.shape[0], ...down.shape.slice(1)];
    const has = [module.outputs, module.inputs, ...module.kernel];
    if (is.filter(isSize).join() !== has.filter(isSize).join())
      return `is of another architecture: its ${down.name} is for a layer of ${is.join(' x ')}, and the ${part} of this model has ${has.join(' x ')} there`;
  }
  return undefined;
}

const isSize = (size: number): boolean => size !== 1;
