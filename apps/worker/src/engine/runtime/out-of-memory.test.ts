import { expect, test } from 'vitest';
import { isOutOfMemory } from './out-of-memory.ts';

/** Names of states as the libraries of CUDA 13 and cuDNN 9.28 contain them, in the sentence of ONNX Runtime's CUDA provider. */
const cudaFailure = (library: string, state: string): string =>
  `Non-zero status code returned while running Conv node. Name:'/conv_in/Conv' Status Message: ${library} failure 1: ${state} ; ` +
  'GPU=0 ; hostname=vm ; file=/onnxruntime_src/onnxruntime/core/providers/cuda/nn/conv.cc ; line=1 ; expr=run(handle);';

test.each([
  ['the arena', 'Failed to allocate memory for requested buffer of size 1099511627776'],
  ['the C++ library', 'std::bad_alloc'],
  ['CUDA', cudaFailure('CUDA', 'out of memory')],
  ['cuBLAS', cudaFailure('CUBLAS', 'CUBLAS_STATUS_ALLOC_FAILED')],
  ['cuDNN 9, on the card', cudaFailure('CUDNN', 'CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED')],
  ['cuDNN 9, in main memory', cudaFailure('CUDNN', 'CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED')],
  ['Vulkan', 'vkAllocateMemory failed with VK_ERROR_OUT_OF_DEVICE_MEMORY'],
  [
    'WebGPU, for a buffer that is too large',
    'WebGPU validation failed. Buffer size (2147483648) exceeds the max buffer size limit (1073741824).',
  ],
  [
    'WebGPU, after a buffer got no memory',
    'WebGPU validation failed. [Invalid Buffer (unlabeled)] is invalid due to a previous error.\n - While validating entries[1]',
  ],
])('Running out of memory is recognised in the words of %s', (_library, message) => {
  expect(isOutOfMemory(message)).toBe(true);
});

test.each([
  [
    'a driver that is too old',
    cudaFailure('CUDA', 'CUDA driver version is insufficient for CUDA runtime version'),
  ],
  ['a kernel that read outside its memory', cudaFailure('CUDA', 'an illegal memory access was encountered')],
  ['a kernel that failed', cudaFailure('CUDNN', 'CUDNN_STATUS_EXECUTION_FAILED')],
  ['an invalid shader', '[Invalid ShaderModule (unlabeled)] is invalid due to a previous error.'],
])('%s is not taken for running out of memory', (_fault, message) => {
  expect(isOutOfMemory(message)).toBe(false);
});
