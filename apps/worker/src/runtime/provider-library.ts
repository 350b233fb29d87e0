import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Provider } from './runtime.ts';

/**
 * The path of the library that this provider needs, when it is not installed; undefined when the provider can be tried.
 * The npm package of ONNX Runtime does not contain CUDA and TensorRT (its install script downloads them). ONNX Runtime
 * reports a missing one too, but prints red error lines on every machine without such a card.
 */
export function missingLibrary(provider: Provider): string | undefined {
  if (provider !== 'cuda' && provider !== 'tensorrt') return undefined;
  const root = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
  const name = `onnxruntime_providers_${provider}`;
  const file = process.platform === 'win32' ? `${name}.dll` : `lib${name}.so`;
  const path = join(root, 'bin', 'napi-v6', process.platform, process.arch, file);
  return existsSync(path) ? undefined : path;
}
