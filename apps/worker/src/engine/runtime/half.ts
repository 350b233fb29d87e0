/** Half precision. It is implemented in onnx-model, because the model generator uses it too. */
export { halfValues, toFloat16, toFloat32 } from '@lehr/onnx-model';
