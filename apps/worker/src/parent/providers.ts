import { hasWebgpuDriver, missingLibrary } from '../engine/runtime/provider-library.ts';
import type { Provider } from '../engine/runtime/runtime.ts';

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
