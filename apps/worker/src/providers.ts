import type { Provider } from './runtime/runtime.ts';

/**
 * The providers to try for a value of LEHR_DEVICE, in order. TensorRT is used only when it is named, because it compiles engines
 * for minutes. A named device is never replaced by another; with `auto` the start log says which was found.
 */
export function providersOf(device: 'auto' | Provider): readonly Provider[] {
  return device === 'auto' ? ['cuda', 'webgpu', 'cpu'] : [device];
}
