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

/** The providers of `auto`, in order. TensorRT is used only when it is named, because it compiles engines for minutes. */
export const AUTO_PROVIDERS: readonly Provider[] = ['cuda', 'webgpu', 'cpu'];

/**
 * The providers to try for a value of LEHR_DEVICE, in order. A named device is never replaced by another. `auto` leaves out what
 * is not installed, so that a machine without a GPU starts without a warning.
 */
export function providersOf(device: 'auto' | Provider): readonly Provider[] {
  return device === 'auto' ? AUTO_PROVIDERS.filter(isInstalled) : [device];
}

const isInstalled = (provider: Provider): boolean =>
  missingLibrary(provider) === undefined && (provider !== 'webgpu' || hasWebgpuDriver());
