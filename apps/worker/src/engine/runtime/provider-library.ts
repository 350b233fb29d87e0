import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
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

/** Where the Vulkan loader looks for the manifests of drivers, without the folders that variables name. */
const VULKAN_FOLDERS = ['/etc/xdg', '/etc', '/usr/local/share', '/usr/share', '.config', '.local/share'];

/**
 * Whether WebGPU has a driver to run on. Without one ONNX Runtime refuses the provider as well, but Dawn prints three lines of
 * warnings. On systems other than Linux Dawn uses the graphics system that is always there.
 */
export function hasWebgpuDriver(folders: readonly string[] = VULKAN_FOLDERS): boolean {
  if (process.platform !== 'linux') return true;
  return folders.some((folder) => {
    const drivers = resolve(homedir(), folder, 'vulkan/icd.d');
    return existsSync(drivers) && readdirSync(drivers).some((name) => name.endsWith('.json'));
  });
}
