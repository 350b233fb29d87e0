/** Half precision for the engine's rooms; written where the model generator can use it too. */
export { toFloat16, toFloat32 } from '@lehr/onnx-model';
