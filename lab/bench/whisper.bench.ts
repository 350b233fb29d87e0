/**
 * Windows of audio through Lehr's engine, compared with transformers.js on the same graphs, which decodes one window at a
 * time. The graphs have the shape of whisper-tiny and random weights, so every window writes the maximum of tokens.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyWhisper } from '../../packages/demo-models/src/index.ts';
import { Random } from '../../test/support/random.ts';
import { openTransformersWhisper } from '../../test/support/transformers-whisper.ts';
import { openWhisperEngine } from '../../test/support/whisper-engine.ts';
import type { RatioFigure } from './harness.ts';

/** About the number of tokens in 30 s of speech. */
const TOKENS = 100;
const JOBS = 8;

async function sides() {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-bench-whisper-'));
  await writeTinyWhisper(folder, { size: 'whisper-tiny', graphs: 'onnx' });
  const lehr = await openWhisperEngine(folder, { rowCap: 16 });
  const { melBins, windowFrames } = lehr.abilities.frontEnd;
  const baseline = await openTransformersWhisper(folder, { subfolder: 'onnx', melBins, windowFrames });
  const random = new Random(1);
  const mels = Array.from({ length: JOBS }, () =>
    Float32Array.from({ length: melBins * windowFrames }, () => random.next() - 0.5),
  );
  /** Milliseconds that the work takes. */
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  };
  return {
    ours: (jobs: number) =>
      timed(() => lehr.write(mels.slice(0, jobs).map((mel) => ({ mel, maxTokens: TOKENS })))),
    theirs: (jobs: number) =>
      timed(() => Promise.all(mels.slice(0, jobs).map((mel) => baseline.write(mel, 'en', TOKENS)))),
    close: async () => {
      await baseline.close();
      await lehr.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const figures: readonly RatioFigure[] = [
  {
    kind: 'ratio',
    name: `Whisper windows/s over transformers.js, ${JOBS} jobs at once, ${TOKENS} tokens each`,
    unit: 'windows/s',
    target: { atLeast: 1.5 },
    rounds: 5,
    open: async () => {
      const { ours, theirs, close } = await sides();
      return {
        ours: async () => (JOBS / (await ours(JOBS))) * 1000,
        baseline: async () => (JOBS / (await theirs(JOBS))) * 1000,
        close,
      };
    },
  },
  {
    kind: 'ratio',
    name: 'Whisper latency of one job over transformers.js',
    unit: 'ms',
    target: { atMost: 1.05 },
    rounds: 11,
    open: async () => {
      const { ours, theirs, close } = await sides();
      return { ours: () => ours(1), baseline: () => theirs(1), close };
    },
  },
];
