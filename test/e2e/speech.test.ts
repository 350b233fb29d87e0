/** Speech through all of Lehr: real processes, the demo Whisper model, recorded voices. */
import { readFile } from 'node:fs/promises';
import { parseSync } from 'subtitle';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatTranscript, type Job, type Transcript } from '../../packages/shared/src/index.ts';
import { shared } from '../support/cleanup.ts';
import { readEvents } from '../support/event-stream.ts';
import { wordErrorRate } from '../support/held-out-speech.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { longSpeech, SAMPLES, wav } from '../support/speech-files.ts';
import { MAX_AUDIO_S, speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const dataUri = async (name: string): Promise<string> =>
  `data:audio/wav;base64,${(await readFile(new URL(name, SAMPLES))).toString('base64')}`;

const startSpeechStack = async (env: Record<string, string> = {}): Promise<Stack> =>
  startStack(server, { LEHR_MODELS: await speechModels(), ...env });

const submit = async (stack: Stack, request: object): Promise<Job> => {
  const response = await stack.ask('POST', '/v1/jobs', request);
  const body = (await response.json()) as Job;
  expect(response.status, JSON.stringify(body)).toBe(202);
  return body;
};

const stack = shared(async () => {
  const all = await startSpeechStack();
  await all.worker();
  return all;
});

describe('speech to text', () => {
  test('A recorded sentence is transcribed with segment times and correct metrics', async () => {
    const { id } = await submit(stack, {
      type: 'speech-to-text',
      input: { audio: await dataUri('en_circle.wav') },
    });
    const job = await stack.over(id);
    expect(job).toMatchObject({
      status: 'succeeded',
      model: 'ears@1',
      input: { audio: 'data:', task: 'transcribe', mode: 'sequential' },
      output: {
        text: expect.stringMatching(/a red circle on a blue background/i),
        language: 'en',
        task: 'transcribe',
      },
    });
    const { output, metrics } = job;
    expect(output?.duration).toBeCloseTo(2.37, 1);
    expect(output?.segments?.length).toBeGreaterThan(0);
    for (const { start, end } of output?.segments ?? []) expect(end).toBeGreaterThan(start);
    expect(output?.images).toBeUndefined();
    const timings = Object.values(metrics?.timings ?? {}) as number[];
    expect(timings.reduce((sum, each) => sum + each, 0)).toBe(metrics?.total_ms);
    expect(metrics?.audio_seconds).toBeCloseTo(2.37, 1);
  });

  test('The texts of the output events of a transcription join to its transcript', {
    tags: ['long'],
  }, async () => {
    const stack = await startSpeechStack();
    const { id } = await submit(stack, {
      type: 'speech-to-text',
      input: { audio: await dataUri('en_fox.wav') },
    });
    const events = readEvents(await stack.ask('GET', `/v1/jobs/${id}/events`));
    await stack.worker();
    let text = '';
    let end: Job | undefined;
    for await (const { data } of events) {
      if (data.type === 'job.output') {
        expect(data.data.offset).toBe(text.length);
        text += data.data.text;
      }
      if (data.type === 'job.succeeded') end = data.data;
    }
    expect(text).not.toBe('');
    expect(end?.output?.text).toBe(text);
  });

  test('Silence is transcribed as an empty text', async () => {
    const silence = wav(new Int16Array(3 * 16_000)).toString('base64');
    const { id } = await submit(stack, {
      type: 'speech-to-text',
      input: { audio: `data:audio/wav;base64,${silence}` },
    });
    expect(await stack.over(id)).toMatchObject({
      status: 'succeeded',
      output: { text: '', segments: [], duration: 3 },
    });
  });

  test('Audio that is invalid, too long or unreachable fails its job with the reason', async () => {
    const tooLong = await readFile(new URL('../broken/silence_1h_small.flac', SAMPLES), 'base64');
    const ends = await Promise.all(
      [
        'data:audio/wav;base64,AAAA',
        `data:audio/flac;base64,${tooLong}`,
        'https://no-such-host.invalid/a.wav',
      ].map(async (audio) => {
        const { id } = await submit(stack, { type: 'speech-to-text', input: { audio } });
        return (await stack.over(id)).error;
      }),
    );
    expect(ends).toMatchObject([
      { code: 'invalid-audio', retryable: false },
      { code: 'too-large', detail: expect.stringContaining(`${MAX_AUDIO_S}`) },
      { code: 'invalid-input', detail: expect.stringContaining('could not be fetched') },
    ]);
  });

  test('An invalid speech request is refused, its field is named, and no job is stored', async () => {
    const ids = async () => {
      const { data } = (await (await stack.ask('GET', '/v1/jobs')).json()) as { data: Job[] };
      return data.map(({ id }) => id);
    };
    const before = await ids();
    const audio = 'https://example.com/a.wav';
    const wrong: [pointer: string, input: object][] = [
      ['/input/audio', { audio: 'ftp://example.com/a.wav' }],
      ['/input/audio', { audio: 'http://169.254.169.254/latest' }],
      ['/input/audio', { audio: 'file_01jd3v9s6w0000000000000000' }],
      ['/input/audio', { audio: 'data:audio/wav;base64,' }],
      ['/input/language', { audio, language: 'xx' }],
      ['/input/mode', { audio, mode: 'slow' }],
    ];
    for (const [pointer, input] of wrong) {
      const response = await stack.ask('POST', '/v1/jobs', { type: 'speech-to-text', input });
      expect(response.status, JSON.stringify(input)).toBe(422);
      expect(await response.json()).toMatchObject({ errors: [{ pointer }] });
    }
    expect(await ids()).toEqual(before);
  });

  test('Ten minutes of speech give a complete text with rising times in both modes, without memory growth', {
    tags: ['long'],
  }, async () => {
    const own = await startSpeechStack();
    const worker = await own.worker();
    const { bytes, text } = await longSpeech(10);
    const file = await own.upload('speech.wav', bytes);
    const peaks: number[] = [];
    for (const mode of ['sequential', ...Array.from({ length: 8 }, () => 'fast')]) {
      const { id } = await submit(own, { type: 'speech-to-text', input: { audio: file, mode } });
      const { error, output } = await own.over(id);
      expect(error).toBeNull();
      const transcript = output as Transcript;
      expect(wordErrorRate([{ spoken: text, transcript: transcript.text }])).toBeLessThan(0.02);
      for (const [i, { start, end }] of transcript.segments.entries()) {
        expect(end).toBeGreaterThan(start);
        expect(start).toBeGreaterThanOrEqual(transcript.segments[i - 1]?.end ?? 0);
      }
      expect(transcript.segments.at(-1)?.end).toBeGreaterThan(590);
      for (const format of ['srt', 'vtt'] as const) {
        const cues = parseSync(formatTranscript(transcript, format).body).filter(
          ({ type }) => type === 'cue',
        );
        expect(cues).toHaveLength(transcript.segments.length);
      }
      peaks.push(await peakMemory(worker.pid));
    }
    // Garbage is collected only when there is enough of it, so the peak rises over the first jobs and then stays. A leak of one
    // waveform per job would raise it by twice this limit over three jobs.
    const perJob = bytes.length + (bytes.length / 2) * Float32Array.BYTES_PER_ELEMENT;
    expect(peaks[8] - peaks[5], `peaks: ${peaks}`).toBeLessThan(perJob);
  });
});

/** The peak resident memory of a process, in bytes. */
async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}
