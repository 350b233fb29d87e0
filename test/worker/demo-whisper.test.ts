/** The accuracy of the demo Whisper, from file to transcript through the API, the queue and a worker. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { decodeAudio } from '../../apps/worker/src/parent/audio/decode.ts';
import { readWaveform } from '../../apps/worker/src/parent/audio/waveform.ts';
import { sampleFile, sampleManifest } from '../support/audio-golden.ts';
import {
  HELD_OUT_CLIPS,
  heldOutClip,
  heldOutSentences,
  withNoise,
  wordErrorRate,
} from '../support/held-out-speech.ts';
import { Random } from '../support/random.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { wav } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { startStack } from '../support/stack.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

interface FileTranscript {
  readonly text: string;
  readonly language: string;
}

/** Returns a function that transcribes all files as simultaneous jobs of one worker, without a language in the request. */
async function transcriber(): Promise<(files: readonly Uint8Array[]) => Promise<FileTranscript[]>> {
  const stack = await startStack(redis, { LEHR_MODELS: await speechModels() });
  await stack.worker();
  return async (files) => {
    const ids: string[] = [];
    for (const file of files) {
      const audio = `data:application/octet-stream;base64,${Buffer.from(file).toString('base64')}`;
      const response = await stack.ask('POST', '/v1/jobs', { type: 'speech-to-text', input: { audio } });
      expect(response.status).toBe(202);
      ids.push(((await response.json()) as { id: string }).id);
    }
    return Promise.all(
      ids.map(async (id) => {
        const { error, output } = await stack.over(id);
        expect(error).toBeNull();
        return { text: output?.text ?? 'no text', language: output?.language ?? 'no language' };
      }),
    );
  };
}

const waveformOf = async (file: Uint8Array): Promise<Float32Array> => {
  const { waveform } = await decodeAudio(file, { maxDurationS: 60, timeoutMs: 10_000 });
  return readWaveform(waveform, 0, waveform.length);
};

const wavOf = (waveform: Float32Array): Uint8Array =>
  wav(Int16Array.from(waveform, (value) => Math.max(-1, Math.min(value, 1)) * 0x7fff));

test('At most 5 % of the words of unknown sentences and voices are wrong, and 15 % with noise at 10 dB', {
  tags: ['long'],
}, async () => {
  const transcribe = await transcriber();
  const sentences = heldOutSentences.slice(0, HELD_OUT_CLIPS);
  const clean = sentences.map((_, index) => heldOutClip(index));
  const noisy = await Promise.all(
    clean.map(async (file, index) => wavOf(withNoise(await waveformOf(file), 10, new Random(index)))),
  );
  const transcripts = await transcribe([...clean, ...noisy]);
  const errorRate = (part: readonly FileTranscript[]): number =>
    wordErrorRate(part.map(({ text }, i) => ({ spoken: sentences[i].text, transcript: text })));
  expect(errorRate(transcripts.slice(0, HELD_OUT_CLIPS))).toBeLessThanOrEqual(0.05);
  expect(errorRate(transcripts.slice(HELD_OUT_CLIPS))).toBeLessThanOrEqual(0.15);
  expect(transcripts.slice(0, HELD_OUT_CLIPS).map(({ language }) => language)).toEqual(
    sentences.map(({ language }) => language),
  );
});

test('The six recorded phrases are transcribed exactly, with their languages; silence and noise give no text', {
  tags: ['long'],
}, async () => {
  const transcribe = await transcriber();
  const { speech } = sampleManifest;
  const random = new Random(1);
  const noise = Float32Array.from({ length: 5 * 16_000 }, () => 0.1 * random.next() - 0.05);
  const nothing = [new Float32Array(1600), new Float32Array(12 * 16_000), noise].map(wavOf);
  const transcripts = await transcribe([...speech.map(({ file }) => sampleFile(file)), ...nothing]);
  expect(transcripts.slice(0, speech.length)).toEqual(
    speech.map(({ file, text }) => ({ text, language: file.includes('/es_') ? 'es' : 'en' })),
  );
  expect(transcripts.slice(speech.length).map(({ text }) => text)).toEqual(['', '', '']);
});
