/** Finds the graph of a model that has one, in both layouts of Optimum's exports. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';

/** `model.onnx` with the variant's suffix, in the folder or below `onnx/`. Throws LehrError `model-unavailable` for what is no suffix. */
export function graphPath(folder: string, variant = ''): string {
  // The variant becomes part of a file name.
  if (!/^(_[a-z0-9_]{1,32})?$/.test(variant)) {
    throw new LehrError(
      'model-unavailable',
      `The variant ${JSON.stringify(variant)} is not a suffix of a graph's name such as _fp16.`,
    );
  }
  const name = `model${variant}.onnx`;
  return existsSync(join(folder, name)) ? join(folder, name) : join(folder, 'onnx', name);
}
