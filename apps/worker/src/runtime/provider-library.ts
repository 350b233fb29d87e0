import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Provider } from './runtime.ts';

/**
 * The path of the library that this provider needs and that is not installed; undefined when it can be tried. The npm
 * package of ONNX Runtime leaves CUDA and TensorRT out (its install script fetches them). Asking for one that is not
 * there is answered by ONNX Runtime too, but with red lines on the terminal of everybody who has no such card.
 */
export function missingLibrary(provider: Provider): string | undefined {
  if (provider !== 'cuda' && provider !== 'tensorrt') return undefined;
  const root = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
  const name = `onnxruntime_providers_${provider}`;
  const file = process.platform === 'win32' ? `${name}.dll` : `lib${name}.so`;
  const path = join(root, 'bin', 'napi-v6', process.platform, process.arch, file);
  return existsSync(path) ? undefined : path;
}
