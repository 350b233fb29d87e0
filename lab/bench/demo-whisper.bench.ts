/**
 * The word error rate of the demo Whisper from file to text, on 200 sentences and voices that it was not trained on, clean
 * and with noise. espeak-ng speaks the sentences; without it nothing is measured.
 */
import { dirname, join } from 'node:path';
import { decodeAudio } from '../../apps/worker/src/parent/audio/decode.ts';
import { logMelWindow } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { readWaveform } from '../../apps/worker/src/parent/audio/waveform.ts';
import { demoModelsFile } from '../../packages/demo-models/src/index.ts';
import {
  hasEspeak,
  heldOutSentences,
  speak,
  withNoise,
  wordsIn,
  wrongWords,
} from '../../test/support/held-out-speech.ts';
import { Random } from '../../test/support/random.ts';
import { openWhisperEngine } from '../../test/support/whisper-engine.ts';
import type { RatioFigure } from './harness.ts';

const LIMITS = { maxDurationS: 60, timeoutMs: 10_000 };

async function spokenSentences(): Promise<Float32Array[]> {
  const waveforms: Float32Array[] = [];
  for (const sentence of heldOutSentences) {
    const { waveform } = await decodeAudio(await speak(sentence), LIMITS);
    waveforms.push(readWaveform(waveform, 0, waveform.length));
  }
  return waveforms;
}

/** The windows of all sentences share batches, and their language is detected. */
async function wrongIn(waveforms: readonly Float32Array[]): Promise<number> {
  const lehr = await openWhisperEngine(join(dirname(demoModelsFile()), 'demo-whisper'), { rowCap: 16 });
  const { frontEnd } = lehr.abilities;
  const results = await lehr.write(
    waveforms.map((waveform) => ({
      mel: logMelWindow(waveform, 0, frontEnd),
      contentFrames: Math.min(frontEnd.windowFrames, Math.ceil(waveform.length / frontEnd.hopLength)),
      language: null,
      timestamps: 'segment',
      fallback: true,
    })),
  );
  await lehr.close();
  return results.reduce((sum, { segments }, i) => {
    const transcript = segments.map(({ text }) => text).join('');
    return sum + wrongWords({ spoken: heldOutSentences[i].text, transcript });
  }, 0);
}

const figure = (name: string, atMost: number, damage: (clean: Float32Array, i: number) => Float32Array) =>
  ({
    kind: 'ratio',
    name: `demo-whisper, word error rate of ${heldOutSentences.length} held-out sentences, ${name}`,
    unit: 'words',
    target: { atMost },
    rounds: 1,
    warmUps: 0,
    open: async () => {
      const waveforms = (await spokenSentences()).map(damage);
      const words = heldOutSentences.reduce((sum, { text }) => sum + wordsIn(text).length, 0);
      return { ours: () => wrongIn(waveforms), baseline: () => words, close: async () => {} };
    },
  }) satisfies RatioFigure;

export const figures: readonly RatioFigure[] = hasEspeak()
  ? [
      figure('clean', 0.05, (clean) => clean),
      figure('noise at 10 dB', 0.15, (clean, i) => withNoise(clean, 10, new Random(i))),
    ]
  : [];
