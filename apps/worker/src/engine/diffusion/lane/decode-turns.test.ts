import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion } from '@lehr/demo-models';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Engine } from '../../engine.ts';
import type { DiffusionSample, FromEngine, OpenedModel, SampleId } from '../../protocol/messages.ts';
import { createSimulatedRuntime, SIMULATED_T4 } from '../../runtime/simulated.ts';

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-decode-turns-'));
  await writeTinyDiffusion(folder, { seed: 5, timestepType: 'float32' });
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Timed {
  readonly at: number;
  readonly message: FromEngine;
}

/** A simulated T4 whose time is what its runs take. Draws these pictures at once, with guidance. */
async function draw(steps: readonly number[], onMessage: (each: Timed, engine: Engine) => void = () => {}) {
  let now = 0;
  const posted: Timed[] = [];
  const left = new Set(steps.map((_, i) => `${i}`));
  const engine: Engine = new Engine({
    runtime: createSimulatedRuntime({
      pause: (ms) => {
        now += ms;
      },
    }),
    settings: { providers: ['cpu'], rowCap: 4 },
    clock: { now: () => now, monotonic: () => now, sleep: async () => {} },
    post: (message) => {
      posted.push({ at: now, message });
      if (message.type === 'failed' || message.type === 'finished' || message.type === 'canceled') {
        left.delete(message.sample);
        if (left.size === 0) engine.close();
      }
      onMessage({ at: now, message }, engine);
    },
  });
  const warmUp = { width: 64, height: 64 };
  const opened = await engine.open({ ref: 'tiny@1', task: 'diffusion', folder, warmUp });
  for (const [i, count] of steps.entries()) engine.submit(sampleOf(i, count));
  await engine.run();
  return { opened, posted };
}

const sampleOf = (id: number, steps: number): DiffusionSample => ({
  id: `${id}` as SampleId,
  task: 'diffusion',
  model: 'tiny@1',
  lane: 'tiny@1.64x64',
  prompt: `picture ${id}`,
  negativePrompt: '',
  width: 64,
  height: 64,
  steps,
  guidance: 7.5,
  seed: id,
  sampler: 'ddim',
  maxBatchMates: 99,
});

const piecesOf = ({ graphs }: OpenedModel): number =>
  graphs.find(({ graph }) => graph === 'vae_decoder')?.cut?.pieces ?? 1;

const fullStepMs = ({ stepMs, rowCap }: OpenedModel): number =>
  stepMs.find(([rows]) => rows === rowCap)?.[1] ?? Number.NaN;

const stepsOf = (posted: readonly Timed[]): number[] =>
  posted.flatMap(({ at, message }) => (message.type === 'stepped' ? at : []));

test('A lane makes its next step within 1.3 steps while pictures are decoded in pieces between its steps', async () => {
  // Two of them end at the same step.
  const { opened, posted } = await draw([6, 6, 20, 25]);
  expect(SIMULATED_T4.pictureMs).toBeGreaterThan(0.9 * fullStepMs(opened));
  expect(piecesOf(opened)).toBe(4);
  const steps = stepsOf(posted);
  const gaps = steps.slice(1).map((at, i) => at - steps[i]);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1.3 * fullStepMs(opened));
  const [, second] = posted.flatMap(({ at, message }) => (message.type === 'finished' ? at : []));
  const sixth = steps[5];
  // Each of both pictures has four pieces, and all but the first of them follow a step.
  expect(steps.filter((at) => at > sixth && at < second)).toHaveLength(7);
});

test('The time that a picture took to decode is that of its pieces, without the steps between them', async () => {
  const { posted } = await draw([6, 6, 20, 25]);
  const times = posted.flatMap(({ message }) => (message.type === 'finished' ? message.timings : []));
  for (const { decodeMs } of times) expect(decodeMs).toBeCloseTo(SIMULATED_T4.pictureMs);
  const [first] = times;
  expect(first.decodedAt - first.denoisedAt).toBeGreaterThan(2 * SIMULATED_T4.pictureMs);
});

test('Pieces follow each other without a pause when no lane has work', async () => {
  const { posted } = await draw([3]);
  const [last, finished] = [stepsOf(posted).at(-1) ?? 0, posted.at(-1)?.at ?? 0];
  expect(finished - last).toBeCloseTo(SIMULATED_T4.pictureMs);
});

test('A picture that is canceled between two pieces is not decoded further, and the next one is whole', async () => {
  const { posted } = await draw([3, 3, 12], ({ message }, engine) => {
    // Its first piece has run: the lane makes a step.
    if (message.type === 'stepped' && message.samples.every(({ id }) => id === '2'))
      engine.cancel('0' as SampleId);
  });
  const ends = posted.flatMap(({ message }) =>
    message.type === 'finished' || message.type === 'canceled' ? [[message.type, message.sample]] : [],
  );
  expect(ends).toEqual([
    ['canceled', '0'],
    ['finished', '1'],
    ['finished', '2'],
  ]);
  const alone = await draw([3, 3]);
  const pixelsOf = (of: readonly Timed[]) =>
    of.flatMap(({ message }) =>
      message.type === 'finished' && message.sample === '1' ? message.pixels : [],
    );
  expect(pixelsOf(posted)).toEqual(pixelsOf(alone.posted));
});

test('With many pictures to decode, decoding gets its share of the time and does not fall behind further', async () => {
  const { posted } = await draw(new Array(24).fill(2));
  const waiting: number[] = [];
  let [denoised, decoded] = [0, 0];
  for (const { message } of posted) {
    if (message.type === 'stepped')
      denoised += message.samples.filter(({ step, steps }) => step === steps).length;
    if (message.type === 'finished') decoded += 1;
    waiting.push(denoised - decoded);
  }
  expect(Math.max(...waiting)).toBeLessThanOrEqual(4);
});
