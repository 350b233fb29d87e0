/** The audio room as the worker has it: real threads, real files, hostile ones among them. */
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { AudioDesk } from '../../apps/worker/src/audio/audio-desk.ts';
import { logMelWindow } from '../../apps/worker/src/audio/log-mel.ts';
import { cutAtSilences } from '../../apps/worker/src/audio/silence.ts';
import { readWaveform, WAVEFORM_RATE, type Waveform } from '../../apps/worker/src/audio/waveform.ts';
import { silentFlac } from '../support/audio-files.ts';
import { sampleFile, sampleManifest } from '../support/audio-golden.ts';
import { bundle } from '../support/bundle.ts';
import { FAULTS } from '../support/faulty-audio-thread.ts';
import { measureOwnDelay } from '../support/own-delay.ts';

const SAMPLES = new URL('../golden/samples/', import.meta.url);
const LIMITS = { maxDurationS: 1800, timeoutMs: 10_000 };
const MEL = { melBins: 80, fftSize: 400, hopLength: 160, windowSamples: 5 * WAVEFORM_RATE } as const;

async function openDesk(threads = 2, entry = '../../apps/worker/src/audio/audio-thread.ts') {
  const desk = new AudioDesk({ threads, entry: pathToFileURL(await bundle(entry, import.meta.url)) });
  onTestFinished(() => desk.close());
  return desk;
}

const openFaultyDesk = (threads: number) => openDesk(threads, '../support/faulty-audio-thread.ts');

test('a file becomes a waveform, windows and cuts, all computed in the thread', async () => {
  const desk = await openDesk();
  const { waveform, durationS, format } = await desk.decode(sampleFile('formats/en_circle.flac'), LIMITS);
  expect({ format, durationS, length: waveform.length }).toEqual({
    format: 'flac',
    durationS: 37_962 / WAVEFORM_RATE,
    length: 37_962,
  });
  const samples = readWaveform(waveform, 0, waveform.length);
  expect(await desk.mel(waveform, 16_000, MEL)).toEqual(logMelWindow(samples, 16_000, MEL));
  expect(await desk.mel(waveform, 16_000, MEL, 24_000)).toEqual(
    logMelWindow(samples.subarray(0, 24_000), 16_000, MEL),
  );
  expect(await desk.mel(waveform, 40_000, MEL)).toEqual(logMelWindow(new Float32Array(0), 0, MEL));
  expect(await desk.cut(waveform, 20_000)).toEqual(cutAtSilences(waveform, 20_000));
});

test('bytes that fill their buffer move to the thread, a slice of another is copied', async () => {
  const desk = await openDesk(1);
  const bytes = sampleFile('formats/en_circle.flac');
  const around = new Uint8Array(bytes.length + 10);
  around.set(bytes, 5);
  await desk.decode(around.subarray(5, 5 + bytes.length), LIMITS);
  expect(around).toHaveLength(bytes.length + 10);
  await desk.decode(bytes, LIMITS);
  expect(bytes).toHaveLength(0);
});

test('every broken file ends as its manifest says, within 2 s, without a pile of memory', async () => {
  const desk = await openDesk(1);
  const { broken } = sampleManifest;
  expect(broken.map(({ file }) => file.split('/')[1]).sort()).toEqual(
    readdirSync(new URL('broken/', SAMPLES)).sort(),
  );
  await desk.decode(sampleFile('formats/en_circle.mp3'), LIMITS);
  for (const entry of broken) {
    const before = process.memoryUsage.rss();
    const startedAt = performance.now();
    const outcome = await desk.decode(sampleFile(entry.file), LIMITS).then(
      ({ waveform }) => outcomeOf(waveform),
      (error) => error.code,
    );
    expect(performance.now() - startedAt, entry.file).toBeLessThan(2000);
    expect(process.memoryUsage.rss() - before, entry.file).toBeLessThan(64 << 20);
    expect(ALLOWED[entry.expect], `${entry.file} ended as ${outcome}`).toContain(outcome);
  }
});

/** Outcomes by the manifest's `expect`. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  ok: ['sound'],
  error: ['invalid-audio'],
  ok_or_error: ['sound', 'invalid-audio'],
  error_or_sanitised: ['sound', 'invalid-audio'],
  ok_or_error_by_limit: ['too-large'],
};

function outcomeOf(waveform: Waveform): 'sound' | 'no sound' | 'no numbers' {
  if (waveform.length === 0) return 'no sound';
  const samples = readWaveform(waveform, 0, waveform.length);
  return samples.every((value) => Math.abs(value) <= 1) ? 'sound' : 'no numbers';
}

test.each([
  ['says so', 24 * 3600],
  ['does not say', 0],
])(
  '24 h of silence in a small FLAC that %s are refused within 2 s, out of little memory',
  async (_, declared) => {
    const bytes = silentFlac({ seconds: 24 * 3600, declaredSeconds: declared });
    expect(bytes.length).toBeLessThan(400_000);
    const desk = await openDesk(1);
    await desk.decode(sampleFile('formats/en_circle.flac'), LIMITS);
    let highest = 0;
    const before = process.memoryUsage.rss();
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss() - before);
    }, 5);
    onTestFinished(() => clearInterval(watch));
    const startedAt = performance.now();
    await expect(desk.decode(bytes, { ...LIMITS, maxDurationS: 600 })).rejects.toMatchObject({
      code: 'too-large',
      message: 'The audio is longer than the 600 seconds allowed.',
    });
    expect(performance.now() - startedAt).toBeLessThan(2000);
    // 600 s of waveform are 37 MiB.
    expect(highest).toBeLessThan(100 << 20);
  },
);

test('the parent answers while a thread decodes', async () => {
  const desk = await openDesk(1);
  await desk.decode(sampleFile('formats/en_circle.flac'), LIMITS);
  const bytes = silentFlac({ seconds: 1200, declaredSeconds: 0 });
  const longestDelayMs = measureOwnDelay();
  const { durationS } = await desk.decode(bytes, LIMITS);
  expect(durationS).toBe(1200);
  expect(longestDelayMs()).toBeLessThan(100);
});

test('a file that hangs the decoder is given up, and its thread with it', async () => {
  const desk = await openFaultyDesk(1);
  await expect(desk.decode(Uint8Array.of(FAULTS.hangs), { ...LIMITS, timeoutMs: 200 })).rejects.toMatchObject(
    {
      code: 'invalid-audio',
      message: 'Decoding the file took longer than 0.2 seconds.',
    },
  );
  expect(await desk.cut({ length: 0, blocks: [] }, 1)).toEqual([]);
});

test.each(['heap', 'exits', 'throws'] as const)(
  'a thread that dies of a file (%s) costs that file alone',
  async (fault) => {
    const desk = await openFaultyDesk(1);
    const dying = desk.decode(Uint8Array.of(FAULTS[fault]), LIMITS);
    const after = desk.cut({ length: 0, blocks: [] }, 1);
    await expect(dying).rejects.toMatchObject({ code: 'invalid-audio' });
    expect(await after).toEqual([]);
  },
);

test('a window never waits for a file that is being decoded', async () => {
  const desk = await openFaultyDesk(2);
  const files = [1, 2, 3].map(() =>
    desk.decode(Uint8Array.of(FAULTS.hangs), { ...LIMITS, timeoutMs: 60_000 }),
  );
  const settled = Promise.allSettled(files);
  expect(await desk.cut({ length: 0, blocks: [] }, 1)).toEqual([]);
  await desk.close();
  expect(await settled).toEqual(
    files.map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: 'unavailable' }) })),
  );
});

test('a thread that cannot start is our fault and not the file', async () => {
  const desk = new AudioDesk({ threads: 1, entry: new URL('no-such-thread.js', import.meta.url) });
  onTestFinished(() => desk.close());
  await expect(desk.decode(sampleFile('formats/en_circle.flac'), LIMITS)).rejects.toMatchObject({
    code: 'internal',
  });
});
