import { availableParallelism } from 'node:os';
import type { Clock, Optimization, Tuned } from '@lehr/shared';
import type { EngineSettings, FromEngine, GraphReport, OpenedModel } from '../protocol/messages.ts';
import type { Batching, InferenceRuntime } from '../runtime/runtime.ts';
import type { RowCap } from './row-cap.ts';

/** What the engine and its parts DiffusionLanes, WhisperLanes and TextLanes are built from. */
export interface EngineParts {
  readonly runtime: InferenceRuntime;
  readonly settings: EngineSettings;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  /** Draws noise while a graph runs (diffusion/noise.ts); the engine closes it. */
  readonly noise?: { begin(draws: readonly SharedArrayBuffer[]): void; close(): Promise<void> };
}

interface WarmModel {
  readonly ref: string;
  readonly batching: Batching;
  readonly graphs: readonly GraphReport[];
  /** The row cap of its steps, or of its decoder calls. */
  readonly cap: RowCap;
  readonly warmUpMs: number;
}

/** The answer to opening a model, as far as pictures and speech share it. */
export const openedModel = ({ ref, batching, graphs, cap, warmUpMs }: WarmModel): OpenedModel => ({
  ref,
  warmUpMs,
  batching: batching.mode === 'rows' ? 'step' : 'aligned',
  ...(batching.mode === 'aligned' && { reason: batching.reason }),
  graphs,
  stepMs: cap.measurements,
  rowCap: cap.rows,
});

export const isNotOpen = (ref: string): Error =>
  new Error(`Model ${ref} is not open in this engine. This is a bug in Lehr.`);

interface OpenSettings extends EngineSettings {
  readonly optimization?: Optimization;
  /** In place of the model's. */
  readonly variant?: string;
}

/**
 * The settings with which one model is opened: those of the worker, and what `lehr tune` found for it.
 *
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
