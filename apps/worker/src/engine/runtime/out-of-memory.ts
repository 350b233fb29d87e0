/**
 * Running out of memory, by the words of the library that noticed it: ONNX Runtime has no code for it. A batch that did not fit can
 * be run in halves, so this must not be taken for a broken device, and nothing else for this.
 */
const WORDINGS: readonly RegExp[] = [
  // ONNX Runtime's own arena on the CPU and on CUDA.
  /failed to allocate memory/i,
  /bad_?alloc/i,
  // CUDA, and TensorRT in its words.
  /out of memory/i,
  // CUBLAS_STATUS_ALLOC_FAILED; cuDNN 9 has CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED and ..._HOST_ALLOCATION_FAILED.
  /alloc(?:ation)?_?failed/i,
  // TensorRT's kOUT_OF_MEMORY, and Vulkan's VK_ERROR_OUT_OF_DEVICE_MEMORY under WebGPU.
  /out_of_(?:device_|host_)?memory/i,
  // WebGPU: a tensor that is larger than one buffer of the device.
  /exceeds the max buffer size limit/i,
  // WebGPU: Dawn only logs that a buffer got no memory, and refuses what is done with the buffer afterwards.
  /invalid buffer[^\n]*is invalid due to a previous error/i,
];

export const isOutOfMemory = (message: string): boolean => WORDINGS.some((wording) => wording.test(message));
