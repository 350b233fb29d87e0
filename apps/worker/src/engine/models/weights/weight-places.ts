/**
 * Where a graph has the weights of its modules. An exporter keeps the name of some (`conv_in.weight`), and folds others into constants
 * without a name (`onnx::MatMul_123`, `val_55`): the weight of a linear layer is transposed, the scale of a GroupNorm gets more dimensions.
 * What such a constant is, says the node that takes it, by the path of its module and its operator.
 */
import {
  DATA_TYPE,
  type GraphProto,
  type NodeProto,
  type StoredModel,
  type StoredTensor,
  toNumber,
} from '@lehr/onnx-model';

/** An input of a node that is a constant of floating-point numbers. */
export interface WeightPlace {
  readonly node: NodeProto;
  readonly input: number;
  readonly stored: StoredTensor;
  readonly dims: readonly number[];
  /** TensorProto.DataType as the node reads it; graphs may store halves and make single precision of them. */
  readonly type: number;
  /** What it may be, the likeliest first. */
  readonly candidates: readonly Candidate[];
  /** Without this weight the graph would not be that of the file. */
  readonly isNeeded: boolean;
}

interface Candidate {
  /** The path of the module and the name of its weight. */
  readonly name: string;
  readonly isTransposed: boolean;
}

/** A constant, or what `Identity` and `Cast` nodes make of it: exporters keep one of several equal weights, and the names of all. */
interface Constant {
  readonly stored: StoredTensor;
  readonly name: string;
  readonly type: number;
}
type Constants = ReadonlyMap<string, Constant>;

export function weightPlaces({ graph, initializers }: StoredModel): WeightPlace[] {
  const constants = new Map<string, Constant>();
  for (const stored of initializers) {
    const { name, dataType } = stored.tensor;
    if (name && isFloat(dataType)) constants.set(name, { stored, name, type: dataType });
  }
  return placesIn(graph, constants);
}

const isFloat = (type: number | null | undefined): type is number =>
  type === DATA_TYPE.float32 || type === DATA_TYPE.float16;

const castType = ({ attribute }: NodeProto): number =>
  toNumber(attribute?.find(({ name }) => name === 'to')?.i);

function placesIn({ node: nodes }: GraphProto, outer: Constants): WeightPlace[] {
  const constants = new Map(outer);
  const groupNorms = new Set((nodes ?? []).filter(({ opType }) => opType === GROUP_NORM).map(modulePath));
  const places: WeightPlace[] = [];
  for (const node of nodes ?? []) {
    const { opType, input = [], output = [], attribute = [] } = node;
    for (const [index, value] of (input ?? []).entries()) {
      const constant = constants.get(value);
      if (!constant) continue;
      const name = output?.[0];
      const type = opType === 'Cast' ? castType(node) : constant.type;
      if ((opType === 'Identity' || opType === 'Cast') && name && isFloat(type))
        constants.set(name, { stored: constant.stored, name, type });
      else places.push(placeOf(node, index, constant, groupNorms));
    }
    for (const { g } of attribute ?? []) if (g) places.push(...placesIn(g, constants));
  }
  return places;
}

/** What TorchScript makes of a GroupNorm, with constants in place of the weights that follow in nodes of the same module. */
const GROUP_NORM = 'InstanceNormalization';
/** What Optimum adds to the names of constants that two decoders share. */
const MERGED = /_merged_\d+$/;

/** Tables of positions, of which a model with texts or windows of one length adds all. */
const POSITIONS = ['embed_positions.weight', 'position_embedding.weight', 'position_embeddings.weight'];

function placeOf(
  node: NodeProto,
  input: number,
  { stored, name, type }: Constant,
  groupNorms: ReadonlySet<string>,
) {
  const dims = (stored.tensor.dims ?? []).map(toNumber);
  const own = name.replace(MERGED, '');
  const module = modulePath(node);
  const role = roleOf(node, input);
  const path = (leaf: string): string => (module === '' ? leaf : `${module}.${leaf}`);
  const byPath = role ? [{ name: path(role.leaf), isTransposed: role.isTransposed }] : [];
  if (node.opType === 'Add')
    byPath.push(...POSITIONS.map((each) => ({ name: path(each), isTransposed: false })));
  const isNorm = (node.opType === 'Mul' || node.opType === 'Add') && groupNorms.has(module);
  const isNeeded = /\.(?:weight|bias)$/.test(own) || isNorm || (role?.isSure ?? false);
  const size = dims.reduce((product, each) => product * each, 1);
  const candidates = [...byPath, { name: own, isTransposed: false }];
  return { node, input, stored, dims, type, candidates, isNeeded: isNeeded && size > 1 };
}

/**
 * The path of the module that a node is of. TorchScript has it in the name of the node, `/down_blocks.0/resnets.0/conv1/Conv`; dynamo
 * in its metadata, as the last but one of a list of texts.
 */
function modulePath({ name, metadataProps }: NodeProto): string {
  const scopes = metadataProps?.find(({ key }) => key === 'pkg.torch.onnx.name_scopes')?.value;
  if (scopes) return /'([^']*)', '[^']*'\]$/.exec(scopes)?.[1] ?? '';
  return name?.startsWith('/') ? name.split('/').slice(1, -1).join('.') : '';
}

interface Role extends Pick<Candidate, 'isTransposed'> {
  readonly leaf: 'weight' | 'bias';
  /** Such an input is a weight in every graph; that of an addition may be any constant. */
  readonly isSure: boolean;
}

function roleOf({ opType, attribute }: NodeProto, input: number): Role | undefined {
  const role = (leaf: Role['leaf'], isTransposed = false, isSure = true): Role => ({
    leaf,
    isTransposed,
    isSure,
  });
  switch (opType) {
    case 'Conv':
    case 'ConvTranspose':
    case 'LayerNormalization':
    case 'GroupNormalization':
      return role(input === 1 ? 'weight' : 'bias');
    case 'Gemm': {
      const isTransposed = toNumber(attribute?.find(({ name }) => name === 'transB')?.i) === 0;
      return input === 1 ? role('weight', isTransposed) : role('bias');
    }
    case 'MatMul':
      return input === 1 ? role('weight', true) : undefined;
    case 'Gather':
      return input === 0 ? role('weight') : undefined;
    case 'Mul':
      return role('weight', false, false);
    case 'Add':
      return role('bias', false, false);
    default:
      return undefined;
  }
}

const INTEGERS = /Integer|^QLinear|Quantize|^MatMulNBits$|^GatherBlockQuantized$/;

/** Whether it computes with whole numbers of few bits, in which weights of a file have no place. */
export const hasIntegers = ({ node }: GraphProto): boolean =>
  (node ?? []).some(
    ({ opType, attribute }) =>
      INTEGERS.test(opType ?? '') || (attribute ?? []).some(({ g }) => g && hasIntegers(g)),
  );
