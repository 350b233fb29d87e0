/** The settings with which one model is opened: those of the worker, and what `lehr tune` found for it. */
import { availableParallelism } from 'node:os';
import type { Optimization, Tuned } from '@lehr/shared';
import type { EngineSettings } from '../protocol/messages.ts';

export interface OpenSettings extends EngineSettings {
  readonly optimization?: Optimization;
  /** In place of the model's. */
  readonly variant?: string;
}

/**
 * What `tuned` says for the first device of the engine. What the worker's own variables set wins, because they are of this machine:
 * LEHR_THREADS, LEHR_ROW_CAP, and LEHR_DEVICE when it names a device. `cores`: threads of the machine.
 */
export function tunedSettings(
  settings: EngineSettings,
  tuned: Tuned | undefined,
  cores = availableParallelism(),
): OpenSettings {
  const [first, ...more] = settings.providers;
  const found = tuned?.[first];
  if (!found) return settings;
  const { device, threads, row_cap: rowCap, optimization, variant } = found;
  const isOffered = device !== undefined && more.includes(device);
  const wantedThreads = settings.threads ?? (threads && Math.min(threads, cores));
  return {
    ...settings,
    ...(wantedThreads !== undefined && { threads: wantedThreads }),
    ...(isOffered && { providers: [device, ...settings.providers.filter((each) => each !== device)] }),
    rowCap: settings.rowCap === 'auto' ? (rowCap ?? 'auto') : settings.rowCap,
    ...(optimization && { optimization }),
    ...(variant !== undefined && { variant }),
  };
}
