/**
 * The messages of onnx-ml.proto at IR version 14 (ONNX 1.23), one line per field: `type`, `[]` when repeated, the
 * field number, `packed` where the .proto file says so. The table is complete, because a graph that is decoded, edited and
 * encoded again must keep every field; fields of a later ONNX are kept as raw bytes (codec.ts).
 *
 * Enums are int32 here: the wire format is the same, and newer values pass through.
 */
export const SCHEMA = {
  ModelProto: {
    irVersion: 'int64 1',
    producerName: 'string 2',
    producerVersion: 'string 3',
    domain: 'string 4',
    modelVersion: 'int64 5',
    docString: 'string 6',
    graph: 'GraphProto 7',
    opsetImport: 'OperatorSetIdProto[] 8',
    metadataProps: 'StringStringEntryProto[] 14',
    trainingInfo: 'TrainingInfoProto[] 20',
    functions: 'FunctionProto[] 25',
    configuration: 'DeviceConfigurationProto[] 26',
  },
  GraphProto: {
    node: 'NodeProto[] 1',
    name: 'string 2',
    initializer: 'TensorProto[] 5',
    docString: 'string 10',
    input: 'ValueInfoProto[] 11',
    output: 'ValueInfoProto[] 12',
    valueInfo: 'ValueInfoProto[] 13',
    quantizationAnnotation: 'TensorAnnotation[] 14',
    sparseInitializer: 'SparseTensorProto[] 15',
    metadataProps: 'StringStringEntryProto[] 16',
  },
  NodeProto: {
    input: 'string[] 1',
    output: 'string[] 2',
    name: 'string 3',
    opType: 'string 4',
    attribute: 'AttributeProto[] 5',
    docString: 'string 6',
    domain: 'string 7',
    overload: 'string 8',
    metadataProps: 'StringStringEntryProto[] 9',
    deviceConfigurations: 'NodeDeviceConfigurationProto[] 10',
  },
  AttributeProto: {
    name: 'string 1',
    f: 'float 2',
    i: 'int64 3',
    s: 'bytes 4',
    t: 'TensorProto 5',
    g: 'GraphProto 6',
    floats: 'float[] 7',
    ints: 'int64[] 8',
    strings: 'bytes[] 9',
    tensors: 'TensorProto[] 10',
    graphs: 'GraphProto[] 11',
    docString: 'string 13',
    tp: 'TypeProto 14',
    typeProtos: 'TypeProto[] 15',
    type: 'int32 20',
    refAttrName: 'string 21',
    sparseTensor: 'SparseTensorProto 22',
    sparseTensors: 'SparseTensorProto[] 23',
  },
  TensorProto: {
    dims: 'int64[] 1',
    dataType: 'int32 2',
    segment: 'Segment 3',
    floatData: 'float[] 4 packed',
    int32Data: 'int32[] 5 packed',
    stringData: 'bytes[] 6',
    int64Data: 'int64[] 7 packed',
    name: 'string 8',
    rawData: 'bytes 9',
    doubleData: 'double[] 10 packed',
    uint64Data: 'uint64[] 11 packed',
    docString: 'string 12',
    externalData: 'StringStringEntryProto[] 13',
    dataLocation: 'int32 14',
    metadataProps: 'StringStringEntryProto[] 16',
  },
  Segment: { begin: 'int64 1', end: 'int64 2' },
  SparseTensorProto: { values: 'TensorProto 1', indices: 'TensorProto 2', dims: 'int64[] 3' },
  ValueInfoProto: {
    name: 'string 1',
    type: 'TypeProto 2',
    docString: 'string 3',
    metadataProps: 'StringStringEntryProto[] 4',
  },
  TypeProto: {
    tensorType: 'TensorType 1',
    sequenceType: 'SequenceType 4',
    mapType: 'MapType 5',
    denotation: 'string 6',
    opaqueType: 'OpaqueType 7',
    sparseTensorType: 'TensorType 8',
    optionalType: 'SequenceType 9',
  },
  TensorType: { elemType: 'int32 1', shape: 'TensorShapeProto 2' },
  SequenceType: { elemType: 'TypeProto 1' },
  MapType: { keyType: 'int32 1', valueType: 'TypeProto 2' },
  OpaqueType: { domain: 'string 1', name: 'string 2' },
  TensorShapeProto: { dim: 'Dimension[] 1' },
  Dimension: { dimValue: 'int64 1', dimParam: 'string 2', denotation: 'string 3' },
  OperatorSetIdProto: { domain: 'string 1', version: 'int64 2' },
  StringStringEntryProto: { key: 'string 1', value: 'string 2' },
  TensorAnnotation: { tensorName: 'string 1', quantParameterTensorNames: 'StringStringEntryProto[] 2' },
  TrainingInfoProto: {
    initialization: 'GraphProto 1',
    algorithm: 'GraphProto 2',
    initializationBinding: 'StringStringEntryProto[] 3',
    updateBinding: 'StringStringEntryProto[] 4',
  },
  FunctionProto: {
    name: 'string 1',
    input: 'string[] 4',
    output: 'string[] 5',
    attribute: 'string[] 6',
    node: 'NodeProto[] 7',
    docString: 'string 8',
    opsetImport: 'OperatorSetIdProto[] 9',
    domain: 'string 10',
    attributeProto: 'AttributeProto[] 11',
    valueInfo: 'ValueInfoProto[] 12',
    overload: 'string 13',
    metadataProps: 'StringStringEntryProto[] 14',
  },
  DeviceConfigurationProto: { name: 'string 1', numDevices: 'int32 2', device: 'string[] 3' },
  NodeDeviceConfigurationProto: {
    configurationId: 'string 1',
    shardingSpec: 'ShardingSpecProto[] 2',
    pipelineStage: 'int32 3',
  },
  ShardingSpecProto: {
    tensorName: 'string 1',
    device: 'int64[] 2',
    indexToDeviceGroupMap: 'IntIntListEntryProto[] 3',
    shardedDim: 'ShardedDimProto[] 4',
  },
  IntIntListEntryProto: { key: 'int64 1', value: 'int64[] 2' },
  ShardedDimProto: { axis: 'int64 1', simpleSharding: 'SimpleShardedDimProto[] 2' },
  SimpleShardedDimProto: { dimValue: 'int64 1', dimParam: 'string 2', numShards: 'int64 3' },
} as const satisfies Record<string, Record<string, string>>;

/** 64-bit fields decode to a pair of 32-bit halves, because a JavaScript number cannot hold INT64_MAX. */
interface Long {
  readonly low: number;
  readonly high: number;
  readonly unsigned: boolean;
  toNumber(): number;
}
export type Int64 = number | Long;

interface Scalars {
  string: string;
  bytes: Uint8Array;
  float: number;
  double: number;
  int32: number;
  int64: Int64;
  uint64: Int64;
}
type Schema = typeof SCHEMA;
export type MessageName = keyof Schema;
type Kind<T> = T extends keyof Scalars ? Scalars[T] : T extends MessageName ? Message<T> : never;
type FieldOf<Line> = Line extends `${infer T}[] ${string}`
  ? Kind<T>[]
  : Line extends `${infer T} ${string}`
    ? Kind<T>
    : never;

/** A message as data. A decoded scalar that was absent has its default value, an absent message is null. */
export type Message<Name extends MessageName> = {
  -readonly [Field in keyof Schema[Name]]?: FieldOf<Schema[Name][Field]> | null;
};

export type ModelProto = Message<'ModelProto'>;
export type GraphProto = Message<'GraphProto'>;
export type NodeProto = Message<'NodeProto'>;
export type AttributeProto = Message<'AttributeProto'>;
export type TensorProto = Message<'TensorProto'>;
export type SparseTensorProto = Message<'SparseTensorProto'>;
export type ValueInfoProto = Message<'ValueInfoProto'>;
export type Dimension = Message<'Dimension'>;

/** TensorProto.DataType: the types that Lehr uses. */
export const DATA_TYPE = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9, float16: 10 } as const;
/** TensorProto.DataLocation.EXTERNAL: the tensor's bytes are in a separate file. */
export const EXTERNAL = 1;
/** AttributeProto.AttributeType: the types that Lehr uses. */
export const ATTRIBUTE_TYPE = {
  float: 1,
  int: 2,
  string: 3,
  tensor: 4,
  graph: 5,
  floats: 6,
  ints: 7,
} as const;

export const toNumber = (value: Int64 | null | undefined): number =>
  typeof value === 'number' ? value : (value?.toNumber() ?? 0);
