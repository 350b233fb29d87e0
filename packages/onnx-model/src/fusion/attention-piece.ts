/** Two small models for an attention, one with the nodes of its graph and one with the fused node, to run both on the same inputs. */
import { hash } from 'node:crypto';
import { encode } from '../codec.ts';
import {
  EXTERNAL,
  type GraphProto,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from '../schema.ts';
import type { StoredModel } from '../stored-model.ts';
import type { Attention } from './find-attention.ts';
import { constantNodes, fusedNodes } from './fuse-attention.ts';
import { GraphIndex, readBy } from './graph-index.ts';
import { withFusedOperators } from './replace-nodes.ts';

export interface AttentionPiece {
  /**
   * Both have the inputs `lehr.queries`, `lehr.keys`, `lehr.values` and, with a mask, `lehr.mask`, and one output, `lehr.result`: names that are
   * none of the graph's.
   */
  original(): Uint8Array;
  fused(): Uint8Array;
  /** Equal for attentions that differ in nothing but the names of their values. */
  readonly kind: string;
}

/** One for each attention; undefined for those that read something else of their graph too. */
export function attentionPieces(
  stored: StoredModel,
  attentions: readonly Attention[],
): (AttentionPiece | undefined)[] {
  const index = new GraphIndex(stored);
  return attentions.map((attention) => {
    const part = between(index, Object.values(inputsOf(attention)), attention.last);
    return (
      part && {
        original: () => modelOf(stored, attention, part.nodes, part.constants),
        fused: () =>
          modelOf(stored, attention, [
            ...constantNodes([attention]),
            ...[...fusedNodes([attention]).values()].flat(),
          ]),
        kind: kindOf(attention, part),
      }
    );
  });
}

/** A digest of the piece as the graph has it, with names that only say which value is which. */
function kindOf(attention: Attention, { nodes, constants }: Part): string {
  const { heads, headSize, valueSize, scale, type, maskType } = attention;
  const names = new Map(Object.entries(inputsOf(attention)).map(([name, value]) => [value, name]));
  const renamed = (value: string): string => {
    if (value !== '' && !names.has(value)) names.set(value, `${names.size}`);
    return names.get(value) ?? '';
  };
  const node = nodes.map((each) => ({
    opType: each.opType,
    domain: each.domain,
    attribute: each.attribute,
    input: each.input?.map(renamed),
    output: each.output?.map(renamed),
  }));
  const initializer = constants.map((each) => ({ ...each, name: renamed(each.name ?? '') }));
  const piece = encode('GraphProto', { node, initializer });
  const sizes = [heads, headSize, valueSize, scale, type, maskType, ...Object.keys(inputsOf(attention))];
  return `${sizes.join(' ')} ${hash('sha256', piece)}`;
}

const MASK = 'lehr.mask';

/** The value of the graph for each input of a piece. */
const inputsOf = ({ queries, keys, values, mask }: Attention): Record<string, string> => ({
  'lehr.queries': queries,
  'lehr.keys': keys,
  'lehr.values': values,
  ...(mask !== undefined && { [MASK]: mask }),
});

interface Part {
  readonly nodes: readonly NodeProto[];
  /** Short weights, which exporters use as constants. */
  readonly constants: readonly TensorProto[];
}

/** What an exporter writes for one attention has about 60 nodes. */
const MAX_NODES = 500;

/**
 * What makes the results of `last` from these inputs. Undefined when more is needed than the inputs, constants and operators of ONNX itself, or
 * very many nodes.
 */
function between(index: GraphIndex, inputs: readonly string[], last: NodeProto): Part | undefined {
  const nodes = new Set<NodeProto>();
  const begun = new Set<NodeProto>();
  const constants = new Map<string, TensorProto>();
  const visit = (value: string): boolean => {
    if (value === '' || inputs.includes(value) || constants.has(value)) return true;
    const weight = index.weight(value);
    if (weight) {
      constants.set(value, weight);
      return hasValues(weight);
    }
    const node = index.producer(value);
    if (!node || node.domain || begun.size > MAX_NODES) return false;
    // Also of a damaged graph, whose nodes are in a circle.
    if (begun.has(node)) return nodes.has(node);
    begun.add(node);
    if (!readBy(node).every(visit)) return false;
    // A node comes after what it reads.
    nodes.add(node);
    return true;
  };
  if (!(last.output ?? []).every(visit)) return undefined;
  return { nodes: [...nodes], constants: [...constants.values()] };
}

/** Of a longer one, the values are not in the stored model (stored-model.ts). */
const hasValues = ({ rawData, floatData, int64Data, int32Data, dataLocation }: TensorProto): boolean =>
  dataLocation !== EXTERNAL && [rawData, floatData, int64Data, int32Data].some((values) => values?.length);

function modelOf(
  { model }: StoredModel,
  attention: Attention,
  nodes: readonly NodeProto[],
  constants: readonly TensorProto[] = [],
): Uint8Array {
  const { type, maskType, last } = attention;
  const inputs = Object.entries(inputsOf(attention));
  const graph: GraphProto = {
    name: 'attention',
    // An input that is two things of the attention at once, as equal keys and values, needs a name for each.
    node: [
      ...inputs.filter(([, value], i) => inputs.findIndex(([, other]) => other === value) === i).map(named),
      ...nodes,
      { opType: 'Identity', name: RESULT, input: [...(last.output ?? [])], output: [RESULT] },
    ],
    input: inputs.map(([name]) => tensorOf(name, name === MASK ? maskType : type)),
    output: [tensorOf(RESULT, type)],
    initializer: [...constants],
  };
  const { irVersion, opsetImport } = model;
  return encode('ModelProto', { irVersion, opsetImport: withFusedOperators(opsetImport), graph });
}

const named = ([name, value]: readonly [string, string]): NodeProto => ({
  opType: 'Identity',
  name: `${name}.given`,
  input: [name],
  output: [value],
});

const RANK = 4;
const RESULT = 'lehr.result';

const tensorOf = (name: string, elemType: number): ValueInfoProto => ({
  name,
  type: {
    tensorType: {
      elemType,
      shape: { dim: Array.from({ length: RANK }, (_, i) => ({ dimParam: `${name}${i}` })) },
    },
  },
});
