/** What one trial measures: a model is opened with the settings of a session, and its steps are timed, some at a time. */

import { openDiffusionModel } from '../../engine/diffusion/folder/diffusion-folder.ts';
import { probeRow } from '../../engine/diffusion/folder/load-rows.ts';
import { SeededNoise } from '../../engine/diffusion/noise.ts';
import type { InferenceRuntime } from '../../engine/runtime/runtime.ts';
import { openTextModel } from '../../engine/text/folder/text-folder.ts';
import { textOf } from '../../engine/text/lane/text-lanes.ts';
import type { EncodedText } from '../../engine/text/tokenizer.ts';
import { openWhisperModel } from '../../engine/whisper/folder/whisper-folder.ts';
import type { Session } from './candidate.ts';

export type TunedModel =
  | { readonly task: 'diffusion'; readonly folder: string; readonly width: number; readonly height: number }
  | { readonly task: 'whisper'; readonly folder: string }
  /** `tokens`: of a text. */
  | { readonly task: 'text'; readonly folder: string; readonly tokens: number };

export interface TrialSettings {
  readonly model: TunedModel;
  readonly session: Session;
}

export interface StepsWanted {
  readonly rows: number;
  /** Timed steps. */
  readonly calls: number;
  /** Whether to time what a job needs beside its steps as well, once. */
  readonly job: boolean;
}

/** One round of one candidate. */
export interface StepsTaken {
  readonly stepMs: readonly number[];
  /** What a job needs beside its steps: prompt and picture, the encoder's call for a window, or the tokens of a text. */
  readonly jobMs?: number;
  /** The largest resident memory of the process so far; without that of a card. */
  readonly residentBytes: number;
}

export interface TrialFailure {
  readonly failure: string;
  /** The graph has another fixed batch, so that other row counts may still run. */
  readonly otherBatch?: boolean;
}

export type TrialAnswer = StepsTaken | TrialFailure;

/**
 * Steps of a new row count that are not timed: the first one allocates and, on some providers, tunes; in the second one ONNX Runtime
 * allocates again, by the memory pattern of the first.
 */
const SETTLING = 2;

interface Steps {
  /** Prepares steps of so many rows. */
  begin(rows: number): Promise<unknown>;
  /** Makes one step of so many rows. */
  step(rows: number): Promise<unknown>;
  /** Does what a job needs beside its steps. */
  job(call: number): Promise<unknown>;
  /** The only row count of a graph with a fixed batch. */
  readonly fixedRows?: number | undefined;
}

export interface Trial {
  /** Throws what a session throws, such as for too many rows. */
  take(wanted: StepsWanted): Promise<TrialAnswer>;
}

/** Throws LehrError `model-unavailable` when the model does not open with these settings. */
export async function openTrial(
  { model, session }: TrialSettings,
  runtime: InferenceRuntime,
): Promise<Trial> {
  const steps = await stepsOf(model, session, runtime);
  const settled = new Set<number>();
  let jobs = 0;
  return {
    take: async ({ rows, calls, job }) => {
      if (steps.fixedRows !== undefined && steps.fixedRows !== rows) {
        return { failure: `the graph has a fixed batch of ${steps.fixedRows} rows`, otherBatch: true };
      }
      if (job && jobs === 0) await steps.job(jobs++);
      const jobMs = job ? await timed(() => steps.job(jobs++)) : undefined;
      await steps.begin(rows);
      for (let i = 0; i < SETTLING && !settled.has(rows); i += 1) await steps.step(rows);
      settled.add(rows);
      const stepMs: number[] = [];
      while (stepMs.length < calls) stepMs.push(await timed(() => steps.step(rows)));
      return {
        stepMs,
        ...(jobMs !== undefined && { jobMs }),
        residentBytes: process.resourceUsage().maxRSS * 1024,
      };
    },
  };
}

function stepsOf(model: TunedModel, session: Session, runtime: InferenceRuntime): Promise<Steps> {
  switch (model.task) {
    case 'diffusion':
      return diffusionSteps(model, session, runtime);
    case 'whisper':
      return whisperSteps(model.folder, session, runtime);
    case 'text':
      return textSteps(model, session, runtime);
  }
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await run();
  return performance.now() - from;
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
    begin: async () => {},
    step: (rows) => unet.predict(new Array(rows).fill(row), size),
    // Another prompt each time, because prompts are cached.
    job: async (call) => {
      await textEncoder.encode([`a lighthouse at dusk ${call}`]);
      await vae.decode(latent, picture);
    },
    fixedRows: unet.fixedRows,
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
  const begin = async (rows: number): Promise<void> => {
    batch = decoder.newBatch();
    length = TOKENS_BEFORE;
    const prompt = new Array<number>(TOKENS_BEFORE).fill(start);
    const state = (await decoder.start([prompt], [features])).state(0);
    while (batch.rows < rows) batch.push(state);
  };
  return {
    begin,
    step: async (rows) => {
      if (length >= MOST_TOKENS) await begin(rows);
      await decoder.step(batch, new Array<number>(rows).fill(start));
      batch.advance();
      length += 1;
    },
    job: () => encoder.encode([mel], floatType),
  };
}

/** A step takes longer the more tokens are there. A round has few steps, so they are made in the middle of a usual window. */
const TOKENS_BEFORE = 40;
/** A text of the model is never longer than 448 tokens; a batch starts again well before. */
const MOST_TOKENS = 100;

/** A run of a small model takes less than a millisecond, which is not timed well alone. */
export const RUNS_OF_A_STEP = 4;

async function textSteps(
  { folder, tokens }: Extract<TunedModel, { task: 'text' }>,
  session: Session,
  runtime: InferenceRuntime,
): Promise<Steps> {
  const { graph, reading, tokenizer } = await openTextModel(folder, runtime, optionsOf(session));
  const outputs = [...new Set(Object.values(reading.outputs))];
  const text = textOf(Math.min(tokens, tokenizer.maxTokens), tokenizer);
  const words = tokenizer.decode(text.ids, { skipSpecial: false });
  return {
    begin: async () => {},
    step: async (rows) => {
      const texts = new Array<EncodedText>(rows).fill(text);
      for (let run = 0; run < RUNS_OF_A_STEP; run += 1) await graph.run(texts, outputs);
    },
    job: async () => tokenizer.encode(words, { mayTruncate: true }),
  };
}
