/** Audio in a worker with real threads and the real ffmpeg, on real files, some of them broken or hostile. */
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { AudioProcessor } from '../../apps/worker/src/parent/audio/audio-processor.ts';
import type { AudioLimits } from '../../apps/worker/src/parent/audio/ffmpeg.ts';
import { logMelWindow, loudestOf, recordingMel } from '../../apps/worker/src/parent/audio/log-mel.ts';
import { cutAtSilences } from '../../apps/worker/src/parent/audio/silence.ts';
import {
  readWaveform,
  WAVEFORM_RATE,
  type Waveform,
  waveformBytes,
} from '../../apps/worker/src/parent/audio/waveform.ts';
import { silentFlac } from '../support/audio-files.ts';
import { sampleFile, sampleManifest } from '../support/audio-golden.ts';
import { bundle } from '../support/bundle.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { FAULTS } from '../support/faulty-audio-thread.ts';
import { measureOwnDelay } from '../support/own-delay.ts';
import { shellProgram } from '../support/shell-program.ts';
import { wav } from '../support/speech-files.ts';

const SAMPLES = new URL('../golden/samples/', import.meta.url);
// No test waits for this timeout: on a machine with other work a decoding can take long.
const LIMITS = { maxDurationS: 1800, timeoutMs: 60_000 };
const MEL = { melBins: 80, fftSize: 400, hopLength: 160, windowSamples: 5 * WAVEFORM_RATE } as const;

const THREAD = '../../apps/worker/src/parent/audio/audio-thread.ts';
const FAULTY_THREAD = '../support/faulty-audio-thread.ts';

/** `ffmpeg` is a shell script that takes its place. */
async function openProcessor({
  threads = 2,
  decodings = 1,
  entry = THREAD,
  ffmpeg = '',
  waveformBytes = 1e9,
} = {}) {
  const processor = new AudioProcessor({
    threads,
    decodings,
    waveformBytes,
    entry: pathToFileURL(await bundle(entry, import.meta.url)),
    ...(ffmpeg && { ffmpeg: shellProgram(ffmpeg) }),
  });
  onTestFinished(() => processor.close());
  return processor;
}

const decode = (processor: AudioProcessor, bytes: Uint8Array, limits: AudioLimits, signal?: AbortSignal) =>
  processor.decode({ bytes, limits, owner: 'acme', ...(signal && { signal }) });

const MP3 = sampleFile('formats/en_circle.mp3');
const NOTHING = { length: 0, blocks: [] };

test('A file becomes a waveform, and a thread computes its windows and cuts', async () => {
  const processor = await openProcessor();
  const { waveform, durationS, format } = await decode(
    processor,
    sampleFile('formats/en_circle.flac'),
    LIMITS,
  );
  expect({ format, durationS, length: waveform.length }).toEqual({
    format: 'flac',
    durationS: 37_962 / WAVEFORM_RATE,
    length: 37_962,
  });
  const samples = readWaveform(waveform, 0, waveform.length);
  expect(await processor.mel(waveform, 16_000, MEL)).toEqual(logMelWindow(samples, 16_000, MEL));
  expect(await processor.mel(waveform, 16_000, MEL, 24_000)).toEqual(
    logMelWindow(samples.subarray(0, 24_000), 16_000, MEL),
  );
  expect(await processor.mel(waveform, 40_000, MEL)).toEqual(logMelWindow(new Float32Array(0), 0, MEL));
  expect(await processor.cut(waveform, 20_000)).toEqual(cutAtSilences(waveform, 20_000));
});

test('A thread computes the windows of a long recording as parts of one log-mel, and its loudest value is found in a first pass', async () => {
  const processor = await openProcessor();
  const { waveform } = await decode(processor, sampleFile('speech/en_lighthouse.wav'), LIMITS);
  const short = { ...MEL, windowSamples: WAVEFORM_RATE } as const;
  expect(waveform.length).toBeGreaterThan(2 * WAVEFORM_RATE);
  const loudest = await processor.loudest(waveform, short);
  expect(loudest).toBe(loudestOf(waveform, { start: 0, end: waveform.length + 400 }, short));
  expect(await processor.recordingMel(waveform, 8_000, short, loudest)).toEqual(
    recordingMel(waveform, 8_000, short, loudest),
  );
  expect(await processor.loudest(waveform, { ...MEL, windowSamples: 30 * WAVEFORM_RATE })).toBe(undefined);
  await expect(processor.loudest(waveform, short, AbortSignal.abort(new Error('cancelled')))).rejects.toThrow(
    'cancelled',
  );
});

test('A window waits for one task of the first passes over other recordings, however many of them are in line', async () => {
  const processor = await openProcessor({ threads: 1 });
  const { waveform } = await decode(processor, sampleFile('speech/en_lighthouse.wav'), LIMITS);
  const short = { ...MEL, windowSamples: WAVEFORM_RATE } as const;
  const ended: string[] = [];
  const passes = Array.from({ length: 6 }, async () => {
    await processor.loudest(waveform, short);
    ended.push('first pass');
  });
  const window = processor.mel(waveform, 0, short).then(() => ended.push('window'));
  await Promise.all([...passes, window]);
  expect(ended.slice(0, 2)).toEqual(['first pass', 'window']);
});

test('The windows of an interactive recording come before those of bulk recordings that are in line', async () => {
  const processor = await openProcessor({ threads: 1 });
  const { waveform } = await decode(processor, sampleFile('speech/en_lighthouse.wav'), LIMITS);
  const ended: string[] = [];
  const windows = (['bulk', 'bulk', 'bulk', 'interactive'] as const).map(async (priority) => {
    await processor.mel(waveform, 0, MEL, waveform.length, priority);
    ended.push(priority);
  });
  await Promise.all(windows);
  expect(ended.slice(0, 2)).toEqual(['bulk', 'interactive']);
});

test('Decoding leaves the bytes of a file unchanged', async () => {
  const processor = await openProcessor();
  for (const file of ['formats/en_circle.flac', 'speech/en_circle.wav']) {
    const bytes = sampleFile(file);
    await decode(processor, bytes, LIMITS);
    expect(bytes).toEqual(sampleFile(file));
  }
});

test('Every broken file gives the result that its manifest names, with at most 2 s of CPU time and little memory', async () => {
  const processor = await openProcessor();
  const { broken } = sampleManifest;
  expect(broken.map(({ file }) => file.split('/')[1]).sort()).toEqual(
    readdirSync(new URL('broken/', SAMPLES)).sort(),
  );
  await decode(processor, sampleFile('formats/en_circle.mp3'), LIMITS);
  for (const entry of broken) {
    const before = process.memoryUsage.rss();
    const startedAt = cpuTimeMs();
    const outcome = await decode(processor, sampleFile(entry.file), LIMITS).then(
      ({ waveform }) => outcomeOf(waveform),
      (error) => error.code,
    );
    expect(cpuTimeMs() - startedAt, entry.file).toBeLessThan(2000);
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
  ['declares its length', 24 * 3600],
  ['declares no length', 0],
])(
  '24 h of silence in a small FLAC that %s are refused with at most 2 s of CPU time and little memory',
  async (_, declared) => {
    const bytes = silentFlac({ seconds: 24 * 3600, declaredSeconds: declared });
    expect(bytes.length).toBeLessThan(400_000);
    const processor = await openProcessor();
    await decode(processor, sampleFile('formats/en_circle.flac'), LIMITS);
    let highest = 0;
    const before = process.memoryUsage.rss();
    const watch = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage.rss() - before);
    }, 5);
    onTestFinished(() => clearInterval(watch));
    const startedAt = cpuTimeMs();
    await expect(decode(processor, bytes, { ...LIMITS, maxDurationS: 600 })).rejects.toMatchObject({
      code: 'too-large',
      message: 'The audio is longer than the 600 seconds allowed.',
    });
    expect(cpuTimeMs() - startedAt).toBeLessThan(2000);
    // 600 s of waveform are 37 MiB.
    expect(highest).toBeLessThan(100 << 20);
  },
);

test('The event loop is not blocked while a file is decoded', async () => {
  const processor = await openProcessor();
  await decode(processor, sampleFile('formats/en_circle.flac'), LIMITS);
  const bytes = silentFlac({ seconds: 1200, declaredSeconds: 0 });
  const longestDelayMs = measureOwnDelay();
  const { durationS } = await decode(processor, bytes, LIMITS);
  expect(durationS).toBe(1200);
  expect(longestDelayMs()).toBeLessThan(100);
});

test('A plain WAV file of half an hour is read without blocking the event loop', async () => {
  const processor = await openProcessor();
  const bytes = wav(new Int16Array(1800 * WAVEFORM_RATE));
  const longestDelayMs = measureOwnDelay();
  const { durationS } = await decode(processor, bytes, LIMITS);
  expect(durationS).toBe(1800);
  expect(longestDelayMs()).toBeLessThan(100);
});

test('A file that hangs ffmpeg is refused', async () => {
  const processor = await openProcessor({ entry: FAULTY_THREAD, ffmpeg: 'exec sleep 60' });
  await expect(decode(processor, MP3, { ...LIMITS, timeoutMs: 500 })).rejects.toMatchObject({
    code: 'invalid-audio',
    message: 'Decoding the file took longer than 0.5 seconds.',
  });
  expect(await processor.cut(NOTHING, 1)).toEqual([]);
});

test.each([
  ['takes too much memory', 'ulimit -v 65536; exec tail -c 1g /dev/zero'],
  ['exits', 'exit 7'],
  ['is killed', 'kill -KILL $$'],
])('A file whose ffmpeg %s is refused, and no other file fails', async (_, script) => {
  const processor = await openProcessor({ ffmpeg: script });
  const dying = decode(processor, MP3, LIMITS);
  const after = decode(processor, sampleFile('speech/en_circle.wav'), LIMITS);
  await expect(dying).rejects.toMatchObject({ code: 'invalid-audio' });
  expect((await after).durationS).toBeGreaterThan(2);
});

test.each(['heap', 'exits', 'throws'] as const)(
  'A thread that dies in a task (%s) fails that task only',
  async (fault) => {
    const processor = await openProcessor({ threads: 1, entry: FAULTY_THREAD });
    const dying = processor.cut(NOTHING, FAULTS[fault]);
    const after = processor.cut(NOTHING, 1);
    await expect(dying).rejects.toMatchObject({ code: 'internal' });
    expect(await after).toEqual([]);
  },
);

test('A window never waits for a file that is being decoded', async () => {
  const processor = await openProcessor({ entry: FAULTY_THREAD, ffmpeg: 'exec sleep 60' });
  const files = [1, 2, 3].map(() => decode(processor, MP3, { ...LIMITS, timeoutMs: 60_000 }));
  const settled = Promise.allSettled(files);
  expect(await processor.cut(NOTHING, 1)).toEqual([]);
  await processor.close();
  expect(await settled).toEqual(
    files.map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: 'unavailable' }) })),
  );
});

test('An aborted signal ends a decoding, whether it runs or waits', async () => {
  const processor = await openProcessor({ ffmpeg: 'exec sleep 60' });
  const [first, second] = [new AbortController(), new AbortController()];
  const running = decode(processor, MP3, LIMITS, first.signal);
  const waiting = decode(processor, MP3, LIMITS, second.signal);
  second.abort(new Error('the second is cancelled'));
  await expect(waiting).rejects.toThrow('the second is cancelled');
  first.abort(new Error('the first is cancelled'));
  await expect(running).rejects.toThrow('the first is cancelled');
});

test('The file of one tenant waits for one running decoding of a tenant that has twenty in line', async () => {
  const processor = await openProcessor();
  const order: string[] = [];
  const decoded = async (owner: string): Promise<void> => {
    const { release } = await processor.decode({ bytes: MP3, limits: LIMITS, owner });
    order.push(owner);
    release();
  };
  await Promise.all([...Array.from({ length: 20 }, () => decoded('many')), decoded('one')]);
  expect(order.indexOf('one')).toBe(1);
});

test('Waveforms never take more than the memory set aside for them, however many files wait', {
  tags: ['long'],
}, async () => {
  // Two files of the longest allowed length fit.
  const limits = { ...LIMITS, maxDurationS: 600 };
  const budget = 2.5 * waveformBytes(limits.maxDurationS);
  const processor = await openProcessor({ decodings: 8, waveformBytes: budget });
  const bytes = silentFlac({ seconds: 500, declaredSeconds: 0 });
  expect(bytes.length).toBeLessThan(2000);
  const before = process.memoryUsage.rss();
  let [reserved, resident] = [0, 0];
  const owners = Array.from({ length: 24 }, (_, i) => `tenant-${i % 3}`);
  await Promise.all(
    owners.map(async (owner) => {
      const { release, durationS } = await processor.decode({ bytes, limits, owner });
      expect(durationS).toBe(500);
      reserved = Math.max(reserved, processor.waveformBytes);
      resident = Math.max(resident, process.memoryUsage.rss() - before);
      release();
    }),
  );
  expect(reserved).toBeLessThanOrEqual(budget);
  // All waveforms together take 370 MiB; those that were released may not have been collected yet.
  expect(resident).toBeLessThan(250 << 20);
  expect(processor.waveformBytes).toBe(0);
});

test('A short file is decoded at once, whatever bulk recordings hold, wait for or are decoded into', async () => {
  const processor = await openProcessor({
    decodings: 2,
    ffmpeg: 'exec sleep 60',
    waveformBytes: 2 * waveformBytes(LIMITS.maxDurationS),
  });
  const clip = { bytes: sampleFile('speech/en_circle.wav'), limits: LIMITS, owner: 'acme' } as const;
  const held = await processor.decode({ ...clip, priority: 'bulk' });
  const recordings = [0, 1, 2, 3].map((i) =>
    processor.decode({ bytes: MP3, limits: LIMITS, owner: `${i % 2}`, priority: 'bulk' }),
  );
  const settled = Promise.allSettled(recordings);
  held.release();
  expect(processor.hasRoom(LIMITS.maxDurationS, 'bulk')).toBe(false);
  expect(processor.hasRoom(LIMITS.maxDurationS, 'interactive')).toBe(true);
  expect((await processor.decode({ ...clip, priority: 'interactive' })).durationS).toBeGreaterThan(2);
  await processor.close();
  await settled;
});

test('The memory of a waveform is free after its job was aborted, and after its decoding failed', async () => {
  const processor = await openProcessor();
  const cancel = new AbortController();
  await decode(processor, MP3, LIMITS, cancel.signal);
  expect(processor.waveformBytes).toBeGreaterThan(0);
  cancel.abort();
  expect(processor.waveformBytes).toBe(0);
  await expect(decode(processor, MP3, { ...LIMITS, maxDurationS: 1 })).rejects.toMatchObject({
    code: 'too-large',
  });
  expect(processor.waveformBytes).toBe(0);
});

test('A processor has no room while a file waits for the decoder or the memory is taken, and says when it has', async () => {
  const processor = await openProcessor({
    ffmpeg: 'exec sleep 60',
    waveformBytes: 2 * waveformBytes(LIMITS.maxDurationS),
  });
  const says = new Promise<void>((resolve) => processor.onRoom(resolve));
  const cancel = new AbortController();
  expect(processor.hasRoom(LIMITS.maxDurationS)).toBe(true);
  const files = [0, 1].map((i) =>
    processor.decode({ bytes: MP3, limits: LIMITS, owner: `${i}`, signal: cancel.signal }),
  );
  expect(processor.hasRoom(LIMITS.maxDurationS)).toBe(false);
  cancel.abort(new Error('cancelled'));
  await says;
  await Promise.allSettled(files);
  expect(processor.hasRoom(LIMITS.maxDurationS)).toBe(true);
});

test('A check of the decoder returns its fault, which is kept until a check succeeds', async () => {
  const processor = await openProcessor();
  expect(await processor.checkDecoder()).toBeUndefined();
  const without = await openProcessor({ ffmpeg: 'exec /no/such/program' });
  expect(without.decoderProblem).toBeUndefined();
  await expect(decode(without, MP3, LIMITS)).rejects.toMatchObject({ code: 'unavailable' });
  expect(without.decoderProblem).toContain('ffmpeg is missing');
  expect(await without.checkDecoder()).toContain('ffmpeg is missing');
  const broken = await openProcessor({ ffmpeg: 'exit 1' });
  expect(await broken.checkDecoder()).toContain('its ffmpeg fails on a valid WAV file');
});

test('A thread that cannot start is an internal error', async () => {
  const entry = new URL('no-such-thread.js', import.meta.url);
  const processor = new AudioProcessor({ threads: 1, decodings: 1, waveformBytes: 1, entry });
  onTestFinished(() => processor.close());
  await expect(processor.cut(NOTHING, 1)).rejects.toMatchObject({ code: 'internal' });
});
