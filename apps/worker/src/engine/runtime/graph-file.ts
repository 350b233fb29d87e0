import { memorySource, readStoredModel, type StoredModel, withFileSource } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import type { GraphSource } from './runtime.ts';

/** Reads a graph without its weights. Throws LehrError `model-unavailable` when it is not an ONNX model. */
export function readGraph({ path, bytes }: GraphSource): StoredModel {
  try {
    return bytes ? readStoredModel(memorySource(bytes)) : withFileSource(path, readStoredModel);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new LehrError('model-unavailable', `${path} is not a readable ONNX file: ${reason}`, { cause });
  }
}
