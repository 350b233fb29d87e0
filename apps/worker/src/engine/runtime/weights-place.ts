import { lstatSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * The name by which a rewritten graph refers to the weights inside its own file. Undefined for a link, whose weights must be copied: ONNX
 * Runtime refuses external data that is outside the folder of the graph ("escapes model directory").
 */
export const weightsPlace = (path: string): string | undefined =>
  lstatSync(path).isSymbolicLink() ? undefined : basename(path);
