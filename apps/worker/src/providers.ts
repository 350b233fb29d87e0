import type { Provider } from './runtime/runtime.ts';

/**
 * LEHR_DEVICE as the providers to try, in order. TensorRT is only taken when asked for: it compiles engines for minutes. A
 * device that was named is never replaced by another one without a word; `auto` says at start what it found.
 */
export function providersOf(device: 'auto' | Provider): readonly Provider[] {
  return device === 'auto' ? ['cuda', 'webgpu', 'cpu'] : [device];
}
