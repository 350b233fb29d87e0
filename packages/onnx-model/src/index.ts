/** ONNX model files as data: decode, edit, encode. Independent of what a model does. */
export { type ByteSource, memorySource, openFileSource, withFileSource } from './byte-source.ts';
export { decode, encode } from './codec.ts';
export { cutGraph } from './cut/cut-graph.ts';
export { PIECES, writePieces } from './cut/write-pieces.ts';
export { type AttentionPiece, attentionPieces } from './fusion/attention-piece.ts';
export { type Attention, type FoundAttentions, findAttentions } from './fusion/find-attention.ts';
export { fuseAttentions } from './fusion/fuse-attention.ts';
export { fuseForCuda } from './fusion/fuse-for-cuda.ts';
export { GraphIndex } from './fusion/graph-index.ts';
export { halfValues, toFloat16, toFloat32 } from './half.ts';
export {
  bfloat16ToFloat32,
  readSafetensors,
  type SafeTensor,
  type Safetensors,
  SafetensorsError,
  safetensorsHeader,
} from './safetensors.ts';
export {
  ATTRIBUTE_TYPE,
  type AttributeProto,
  DATA_TYPE,
  type Dimension,
  EXTERNAL,
  type GraphProto,
  type Int64,
  type Message,
  type ModelProto,
  type NodeProto,
  type SparseTensorProto,
  type TensorProto,
  toNumber,
  type ValueInfoProto,
} from './schema.ts';
export {
  type NewTensor,
  readStoredModel,
  type StoredModel,
  type StoredTensor,
  writeStoredModel,
} from './stored-model.ts';
