import { pathToFileURL } from 'node:url';
import { type LeaseToken, type SpeechToTextInput, systemClock } from '@lehr/shared';
import type { Claim } from '@lehr/shared/queue';
import type { JobRecord } from '@lehr/shared/records';
import { expect, onTestFinished, test } from 'vitest';
import { bundle } from '../../../../../test/support/bundle.ts';
import { wav } from '../../../../../test/support/speech-files.ts';
import type { TranscribedMessage, WhisperSample } from '../../engine/protocol/messages.ts';
import { AudioProcessor } from '../audio/audio-processor.ts';
import { logMelWindow, loudestOf, recordingMel } from '../audio/log-mel.ts';
import { WAVEFORM_RATE, type Waveform, WaveformWriter } from '../audio/waveform.ts';
import { SpeechRun } from './speech-run.ts';
import type { WindowRun } from './window-run.ts';

const FRONT_END = {
  sampleRate: WAVEFORM_RATE,
  melBins: 80,
  fftSize: 400,
  hopLength: 160,
  windowSamples: 5 * WAVEFORM_RATE,
  windowFrames: 500,
} as const;

/** 12 s of a tone whose loudness grows with each second, and 100 samples more. */
const SAMPLES = Int16Array.from({ length: 12 * WAVEFORM_RATE + 100 }, (_, n) =>
  Math.round(2 ** (n / WAVEFORM_RATE) * Math.sin(n / 9)),
);

function waveformOf(samples: Int16Array): Waveform {
  const writer = new WaveformWriter();
  writer.append(Float32Array.from(samples, (value) => value / 0x8000));
  return writer.finish();
}

async function openAudio(): Promise<AudioProcessor> {
  const audio = new AudioProcessor({
    threads: 1,
    decodings: 1,
    waveformBytes: 1e9,
    entry: pathToFileURL(await bundle('../audio/audio-thread.ts', import.meta.url)),
  });
  onTestFinished(() => audio.close());
  return audio;
}

async function speechRun(changes: Partial<SpeechToTextInput>, samples = SAMPLES): Promise<SpeechRun> {
  const record = { id: 'job_1', queue: 'whisper.tiny@1', model: 'tiny@1', tenant: 'acme', cost: 1200 };
  const input: SpeechToTextInput = {
    audio: { kind: 'url', url: 'https://x.example/a.wav' },
    language: null,
    task: 'transcribe',
    prompt: 'the kiln',
    temperature: 0,
    timestamps: 'segment',
    mode: 'sequential',
    ...changes,
  };
  const claim = { jobId: record.id, queue: record.queue, token: 'lease' as LeaseToken } as Claim;
  return new SpeechRun(claim, record as unknown as JobRecord, 0, input, {
    audio: await openAudio(),
    clock: systemClock,
    store: { put: () => Promise.reject(new Error('This test stores nothing.')) } as never,
    fetchMedia: async () => wav(samples),
    chargeAudio: async () => {},
    abilities: { frontEnd: FRONT_END, languages: ['en', 'es'], timesWords: false },
    maxAudioS: 60,
    onText: () => {},
  });
}

const requests = (windows: readonly unknown[]): WhisperSample[] =>
  (windows as readonly WindowRun[]).map(({ request }) => request);

const ended = (
  window: unknown,
  changes: Pick<TranscribedMessage, 'advanceFrames' | 'nextContext'>,
): TranscribedMessage => ({
  type: 'transcribed',
  sample: (window as WindowRun).request.id,
  segments: [],
  tokens: [],
  language: 'es',
  temperature: 0,
  avgLogProbability: -0.5,
  compressionRatio: 1,
  noSpeechProbability: 0,
  batchSize: 1,
  timings: { encodedAt: 1, startedAt: 2, decodedAt: 3, deviceMs: 1 },
  ...changes,
});

const sameMel = (mel: Float32Array, wanted: Float32Array): boolean =>
  Buffer.from(mel.buffer).equals(Buffer.from(wanted.buffer));

test('In sequence, each window is a part of the log-mel of the file, and is told what the window before it says', async () => {
  const run = await speechRun({});
  const [first] = await run.begin();
  const [second] = await run.addResult(first, ended(first, { advanceFrames: 321, nextContext: [7, 8, 9] }));
  const [third] = await run.addResult(second, ended(second, { advanceFrames: 500, nextContext: [] }));
  const [one, two, three] = requests([first, second, third]);
  expect([one.prompt, two.prompt, three.prompt]).toEqual(['the kiln', '', '']);
  expect([one.previousTokens, two.previousTokens, three.previousTokens]).toEqual([[], [7, 8, 9], []]);
  expect([one.language, two.language]).toEqual([null, 'es']);
  // A frame that the file ends in is not counted.
  expect([one.contentFrames, two.contentFrames, three.contentFrames]).toEqual([500, 500, 1200 - 821]);

  const waveform = waveformOf(SAMPLES);
  const audio = await openAudio();
  const loudest = await audio.loudest(waveform, FRONT_END);
  for (const [window, start] of [
    [one, 0],
    [two, 321],
    [three, 821],
  ] as const) {
    expect(sameMel(window.mel, recordingMel(waveform, start * 160, FRONT_END, loudest).mel), `${start}`).toBe(
      true,
    );
  }
});

test('What a recording has still to go falls with what is transcribed', async () => {
  const run = await speechRun({});
  const [first] = await run.begin();
  expect(run.leftMs).toBe(1200);
  // 5 of its 13 seconds, the last of which has begun.
  await run.addResult(first, ended(first, { advanceFrames: 500, nextContext: [] }));
  expect(run.leftMs).toBeCloseTo((1200 * 8) / 13, 0);
});

test('A window that begins within a file of one window is clamped by the loudest moment of the file too', async () => {
  // 4 s of the tone from its loudest second to its least loud one.
  const falling = SAMPLES.slice(8 * WAVEFORM_RATE, 12 * WAVEFORM_RATE).reverse();
  const run = await speechRun({}, falling);
  const [first] = await run.begin();
  const [second] = await run.addResult(first, ended(first, { advanceFrames: 200, nextContext: [] }));
  const [{ mel }] = requests([second]);
  const waveform = waveformOf(falling);
  const loudest = loudestOf(waveform, { start: 0, end: FRONT_END.windowSamples }, FRONT_END);
  expect(sameMel(mel, recordingMel(waveform, 200 * 160, FRONT_END, loudest).mel)).toBe(true);
});

test('In the fast mode, each window has the log-mel that it has alone, and is told the prompt', async () => {
  const run = await speechRun({ mode: 'fast', language: 'en' });
  const windows = requests(await run.begin());
  expect(windows.length).toBeGreaterThan(2);
  expect(windows.map(({ prompt }) => prompt)).toEqual(windows.map(() => 'the kiln'));
  const [{ end }] = run.samples as readonly WindowRun[];
  const alone = logMelWindow(
    Float32Array.from(SAMPLES.subarray(0, end), (value) => value / 0x8000),
    0,
    FRONT_END,
  );
  expect(sameMel(windows[0].mel, alone)).toBe(true);
});
