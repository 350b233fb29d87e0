/**
 * The pieces of a graph as one model that runs one of them at a time. In one session, all of them share one pool of memory; a session for each would
 * keep the largest memory that each has needed.
 *
 *   piece is 0? ── If ┬ then: the first piece, of the graph's inputs
 *                     └ else: piece is 1? ── If ┬ then: the second piece, of `given`
 *                                               └ else: the third piece, of `given`
 */
import type { ByteSource } from '../byte-source.ts';
import { encode } from '../codec.ts';
import {
  ATTRIBUTE_TYPE,
  type AttributeProto,
  DATA_TYPE,
  type GraphProto,
  type NodeProto,
  type ValueInfoProto,
} from '../schema.ts';
import { type StoredModel, storedTensor } from '../stored-model.ts';
import type { GraphPiece } from './cut-graph.ts';

/** Names that are none of the graph's: the number of the piece to run, what the piece before has made, and what this one makes. */
export const PIECES = { number: 'lehr.piece', given: 'lehr.given', made: 'lehr.made' } as const;

/**
 * Its inputs are those of the graph, `PIECES.number` and `PIECES.given`; its output is `PIECES.made`. Long weights stay in the file `name`, as in
 * writeStoredModel.
 */
export function writePieces(
  { model, graph, initializers }: StoredModel,
  pieces: readonly GraphPiece[],
  source: ByteSource,
  name?: string,
): Uint8Array {
  const [output] = graph.output ?? [];
  const handedOver = (of: string): ValueInfoProto => freeSizes(of, output);
  const branches = pieces.map(({ given, made, nodes, initializers: weights }, i): GraphProto => {
    const own = [...(given === undefined ? [] : [node('Identity', [PIECES.given], given)]), ...nodes];
    const values = new Set(own.flatMap((each) => each.output ?? []).filter((value) => value !== made));
    return {
      name: `piece.${i}`,
      node: own,
      output: [handedOver(made)],
      // ONNX Runtime chooses the layout of a convolution by the sizes that it knows.
      valueInfo: (graph.valueInfo ?? []).filter((value) => values.has(value.name ?? '')),
      initializer: weights.map((weight) => storedTensor(weight, source, name)),
    };
  });
  const weights = new Set(initializers.map(({ tensor }) => tensor.name));
  const number = {
    name: PIECES.number,
    type: { tensorType: { elemType: DATA_TYPE.int64, shape: { dim: [] } } },
  };
  return encode('ModelProto', {
    ...model,
    graph: {
      name: 'pieces',
      node: [...branches.slice(1).flatMap((_, at) => comparison(at)), choose(branches, 0, PIECES.made)],
      // Files of old opsets list their weights among the inputs.
      input: [
        ...(graph.input ?? []).filter((input) => !weights.has(input.name)),
        number,
        handedOver(PIECES.given),
      ],
      output: [handedOver(PIECES.made)],
    },
  });
}

/** The node that runs the piece whose number was given, of this one and those after it. */
function choose(branches: readonly GraphProto[], at: number, to: string): NodeProto {
  const rest = at + 1;
  const otherwise =
    rest === branches.length - 1
      ? branches[rest]
      : {
          name: `after.${at}`,
          node: [choose(branches, rest, `${to}.${rest}`)],
          output: [{ name: `${to}.${rest}`, type: branches[rest].output?.[0].type }],
        };
  return node('If', [isNumber(at)], to, [
    { name: 'then_branch', type: ATTRIBUTE_TYPE.graph, g: branches[at] },
    { name: 'else_branch', type: ATTRIBUTE_TYPE.graph, g: otherwise },
  ]);
}

const isNumber = (at: number): string => `${PIECES.number}.is.${at}`;

/** Whether this piece is to run. */
function comparison(at: number): NodeProto[] {
  const rawData = new Uint8Array(BigInt64Array.of(BigInt(at)).buffer);
  const t = { dims: [], dataType: DATA_TYPE.int64, rawData };
  const constant = `${PIECES.number}.${at}`;
  return [
    node('Constant', [], constant, [{ name: 'value', type: ATTRIBUTE_TYPE.tensor, t }]),
    node('Equal', [PIECES.number, constant], isNumber(at)),
  ];
}

const node = (
  opType: string,
  input: string[],
  output: string,
  attribute: AttributeProto[] = [],
): NodeProto => ({
  opType,
  name: output,
  input,
  output: [output],
  attribute,
});

/** The type of the value, with its rank and no size. */
function freeSizes(name: string, like: ValueInfoProto | undefined): ValueInfoProto {
  const { elemType, shape } = like?.type?.tensorType ?? {};
  const dim = (shape?.dim ?? []).map((_, axis) => ({ dimParam: `${name}.${axis}` }));
  return { name, type: { tensorType: { elemType, shape: { dim } } } };
}
