/** What one trial measures: a model is opened with the settings of a session, and its steps are timed at some row caps. */

import { SeededNoise } from '../diffusion/noise.ts';
import { probeRow } from '../models/diffusion/check-unet.ts';
import { openDiffusionModel } from '../models/diffusion/diffusion-folder.ts';
import { openWhisperModel } from '../models/whisper/whisper-folder.ts';
import type { InferenceRuntime } from '../runtime/runtime.ts';
import type { Session } from './candidate.ts';
import { type Durations, durationsOf } from './durations.ts';

export type TunedModel =
  | { readonly task: 'diffusion'; readonly folder: string; readonly width: number; readonly height: number }
  | { readonly task: 'whisper'; readonly folder: string };

export interface TrialRequest {
  readonly model: TunedModel;
  readonly session: Session;
  /** Ascending, because memory only grows. */
  readonly rowCaps: readonly number[];
  /** Timed steps of each row cap. */
  readonly calls: number;
}

export interface TrialPoint {
  readonly rowCap: number;
  readonly step: Durations;
  /** The largest resident memory of the process so far; without that of a card. */
  readonly residentBytes: number;
}

export interface TrialResult {
  readonly openMs: number;
  /** What a job needs beside its steps: prompt and picture, or the encoder's call for a window. Median milliseconds. */
  readonly perJobMs: number;
  readonly points: readonly TrialPoint[];
}

/** The parts of a job outside of its steps are measured with at most so many calls: they are few. */
const MAX_JOB_CALLS = 10;

interface Steps {
  /** Makes one step of so many rows. */
  step(rows: number): Promise<unknown>;
  /** Does what a job needs beside its steps. */
  job(call: number): Promise<unknown>;
  /** The only row count of a graph with a fixed batch. */
  readonly fixedRows?: number | undefined;
  close(): Promise<void>;
}

/** Throws LehrError `model-unavailable` when the model does not open with these settings. */
export async function runTrial(
  { model, session, rowCaps, calls }: TrialRequest,
  runtime: InferenceRuntime,
): Promise<TrialResult> {
  const openedFrom = performance.now();
  const steps = await (model.task === 'diffusion'
    ? diffusionSteps(model, session, runtime)
    : whisperSteps(model.folder, session, runtime));
  const openMs = performance.now() - openedFrom;
  const perJob = await timed(Math.min(calls, MAX_JOB_CALLS), (call) => steps.job(call));
  const points: TrialPoint[] = [];
  for (const rowCap of rowCaps) {
    if (steps.fixedRows !== undefined && steps.fixedRows !== rowCap) continue;
    try {
      const step = await timed(calls, () => steps.step(rowCap));
      points.push({ rowCap, step, residentBytes: process.resourceUsage().maxRSS * 1024 });
    } catch (error) {
      if (points.length === 0) throw error;
      // So many rows do not fit into the memory of the device, and more rows neither.
      break;
    }
  }
  await steps.close();
  return { openMs, perJobMs: perJob.medianMs, points };
}

/** The first call of a shape allocates and, on some providers, tunes: it is not counted. */
async function timed(calls: number, run: (call: number) => Promise<unknown>): Promise<Durations> {
  await run(0);
  const durations: number[] = [];
  for (let call = 1; call <= calls; call += 1) {
    const from = performance.now();
    await run(call);
    durations.push(performance.now() - from);
  }
  return durationsOf(durations);
}

const optionsOf = ({ device, threads, optimization, variant }: Session) => ({
  providers: [device],
  optimization,
  ...(threads !== undefined && { threads }),
  ...(variant !== undefined && { variant }),
});

async function diffusionSteps(
  { folder, width, height }: Extract<TunedModel, { task: 'diffusion' }>,
  session: Session,
  runtime: InferenceRuntime,
): Promise<Steps> {
  const model = await openDiffusionModel(folder, runtime, optionsOf(session));
  const { unet, vae, tokenizer, textEncoder } = model;
  const picture = model.onlySize ?? { width, height };
  const size = { width: picture.width / vae.scaleFactor, height: picture.height / vae.scaleFactor };
  const row = probeRow(unet, size, tokenizer.maxTokens, 1);
  const latent = new SeededNoise(0).draw(vae.latentChannels * size.width * size.height);
  return {
    step: (rows) => unet.predict(new Array(rows).fill(row), size),
    // Another prompt each time, because prompts are cached.
    job: async (call) => {
      await textEncoder.encode([`a lighthouse at dusk ${call}`]);
      await vae.decode(latent, picture);
    },
    fixedRows: unet.fixedRows,
    close: () => model.close(),
  };
}

async function whisperSteps(folder: string, session: Session, runtime: InferenceRuntime): Promise<Steps> {
  const model = await openWhisperModel(folder, runtime, optionsOf(session));
  const { decoder, encoder, frontEnd, tokenizer } = model;
  const { start } = tokenizer.special;
  const mel = new Float32Array(frontEnd.melBins * frontEnd.windowFrames);
  const { floatType } = decoder.sizes;
  const [features] = await encoder.encode([mel], floatType);
  let batch = decoder.newBatch();
  let length = 0;
  return {
    step: async (rows) => {
      if (batch.rows !== rows || length >= MAX_TRIAL_TOKENS) {
        batch = decoder.newBatch();
        length = 0;
        const state = (await decoder.start([[start]], [features])).state(0);
        while (batch.rows < rows) batch.push(state);
      }
      await decoder.step(batch, new Array<number>(rows).fill(start));
      batch.advance();
      length += 1;
    },
    job: () => encoder.encode([mel], floatType),
    close: () => model.close(),
  };
}

/** A text of the model is never longer than 448 tokens; a batch starts again well before. */
const MAX_TRIAL_TOKENS = 100;
