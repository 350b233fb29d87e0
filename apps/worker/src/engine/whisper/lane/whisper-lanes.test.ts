import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyDiffusion, writeTinyWhisper } from '@lehr/demo-models';
import { type Clock, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { whisperWindow } from '../../../../../../test/support/whisper-window.ts';
import { Engine } from '../../engine.ts';
import type { DiffusionSample, FromEngine, SampleId, WhisperSample } from '../../protocol/messages.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import type { InferenceRuntime } from '../../runtime/runtime.ts';
import { openWhisperModel } from '../folder/whisper-folder.ts';
import { mostEncoderRows, warmUpWhisper } from './whisper-lanes.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-engine-whisper-'));
  await writeTinyDiffusion(join(folder, 'diffusion'), { seed: 5 });
  await writeTinyWhisper(join(folder, 'whisper'), { seed: 5, crossAttentions: true });
  await writeTinyWhisper(join(folder, 'english'), { seed: 5, languages: [], decoder: 'split' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let made = 0;
const window = (fields: Partial<WhisperSample> = {}): WhisperSample => {
  made += 1;
  const mel = Float32Array.from({ length: 80 * 200 }, (_, i) => Math.sin(i / (20 + made)));
  return whisperWindow({ model: 'whisper@1', mel, contentFrames: 200, ...fields });
};
const picture = (): DiffusionSample => ({
  id: `picture-${++made}` as SampleId,
  task: 'diffusion',
  model: 'diffusion@1',
  lane: 'diffusion.diffusion@1.64x64',
  prompt: 'a red circle',
  negativePrompt: '',
  width: 64,
  height: 64,
  steps: 30,
  guidance: 1,
  seed: 1,
  sampler: 'ddim',
  maxBatchMates: 99,
});

async function engineOf(clock: Clock = systemClock) {
  const posted: FromEngine[] = [];
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Extract<FromEngine, { type: Type }> => message.type === type);
  const engine = new Engine({
    runtime: onnxRuntime,
    settings: { providers: ['cpu'], threads: 1, rowCap: 8 },
    clock,
    post: (message) => posted.push(message),
  });
  const opened = [
    await engine.open({ ref: 'whisper@1', task: 'whisper', folder: join(folder, 'whisper') }),
    await engine.open({ ref: 'english@1', task: 'whisper', folder: join(folder, 'english') }),
    await engine.open({
      ref: 'diffusion@1',
      task: 'diffusion',
      folder: join(folder, 'diffusion'),
      warmUp: { width: 64, height: 64 },
    }),
  ];
  const running = engine.run();
  onTestFinished(async () => {
    engine.close();
    await running;
  });
  return { engine, opened, posted, ofType };
}

test('Opening a Whisper model reports its abilities and where its graphs run', async () => {
  const { opened } = await engineOf();
  expect(opened[0]).toMatchObject({
    ref: 'whisper@1',
    batching: 'step',
    rowCap: 8,
    graphs: [
      { graph: 'encoder', provider: 'cpu' },
      { graph: 'decoder', provider: 'cpu' },
    ],
    whisper: { languages: ['en', 'es'], timesWords: true, frontEnd: { melBins: 80, windowFrames: 200 } },
  });
  expect(opened[0].stepMs.map(([rows]) => rows)).toEqual(expect.arrayContaining([1, 2]));
  expect(opened[1].whisper).toMatchObject({ languages: null, timesWords: false });
});

test('Pictures and windows of several models take turns in one engine', async () => {
  // Turns are shared by time; on this clock all take equally long, even on a machine that stalls.
  let now = 0;
  const { engine, ofType } = await engineOf({ ...systemClock, monotonic: () => (now += 1) });
  const windows = [1, 2, 3, 4].map(() => window({ maxTokens: 60 }));
  const english = window({ model: 'english@1', lane: 'whisper.english@1' });
  const drawn = picture();
  for (const sample of [drawn, ...windows, english]) engine.submit(sample);
  await vi.waitFor(() => {
    expect(ofType('finished')).toHaveLength(1);
    expect(ofType('transcribed')).toHaveLength(5);
  }, 15_000);
  expect(ofType('failed')).toEqual([]);
  // A message is posted when the samples change: the picture's turns came before, between and after those of the windows.
  const takers = ofType('running').map(({ samples }) => (samples.includes(drawn.id) ? 'picture' : 'windows'));
  const changes = takers.filter((taker, i) => taker !== takers[i - 1]);
  expect(changes.length).toBeGreaterThan(3);
});

test('The samples of a decoder call are posted only when they change', async () => {
  const { engine, ofType } = await engineOf();
  const sample = window({ maxTokens: 60 });
  engine.submit(sample);
  await vi.waitFor(() => expect(ofType('transcribed')).toHaveLength(1), 15_000);
  expect(ofType('transcribed')[0].tokens.length).toBeGreaterThan(10);
  expect(ofType('running')).toEqual([{ type: 'running', samples: [sample.id] }]);
});

test('A window that cannot be served fails, and a cancelled one is reported as canceled', async () => {
  const { engine, ofType } = await engineOf();
  const [long, wrong] = [window({ maxTokens: 90 }), window({ language: 'xx' })];
  engine.submit(wrong);
  engine.submit(long);
  engine.cancel(long.id);
  engine.cancel(long.id);
  expect(ofType('failed')).toEqual([
    {
      type: 'failed',
      sample: wrong.id,
      failure: {
        code: 'invalid-input',
        message: 'This model does not support the language "xx". It supports: en, es.',
        problems: [
          {
            pointer: '/input/language',
            detail: 'This model does not support the language "xx". It supports: en, es.',
          },
        ],
      },
    },
  ]);
  expect(ofType('canceled')).toEqual([{ type: 'canceled', sample: long.id }]);
  const last = window();
  engine.submit(last);
  await vi.waitFor(
    () => expect(ofType('transcribed').map(({ sample }) => sample)).toEqual([last.id]),
    15_000,
  );
});

test.each(['whisper', 'diffusion'] as const)(
  'A model of the task %s whose warm-up fails leaves no session open',
  async (task) => {
    let open = 0;
    const runtime: InferenceRuntime = {
      load: async (graph, options) => {
        const session = await onnxRuntime.load(graph, options);
        open += 1;
        return Object.assign(session, {
          close: async () => {
            open -= 1;
            await Object.getPrototypeOf(session).close.call(session);
          },
        });
      },
    };
    // Only the warm-up reads the clock, and the code before it, once.
    let readings = 0;
    const clock: Clock = {
      ...systemClock,
      monotonic: () => {
        if (readings++ === 0) return 0;
        throw new Error('out of memory');
      },
    };
    const settings = { providers: ['cpu'] as const, threads: 1, rowCap: 8 };
    const engine = new Engine({ runtime, settings, clock, post: () => {} });
    const spec = { ref: 'model@1', folder: join(folder, task) };
    const opening = engine.open(
      task === 'whisper' ? { ...spec, task } : { ...spec, task, warmUp: { width: 64, height: 64 } },
    );
    await expect(opening).rejects.toThrow('out of memory');
    expect(open).toBe(0);
  },
);

test('A decoder that four rows use fully is measured up to sixteen, each time with as many rows as its call has tokens', async () => {
  const folder = await tempFolder('warm-up');
  await writeTinyWhisper(folder);
  const model = await openWhisperModel(folder, onnxRuntime, { providers: ['cpu'], threads: 1 });
  let now = 0;
  const encode = model.encoder.encode.bind(model.encoder);
  vi.spyOn(model.encoder, 'encode').mockImplementation((mels, type) => {
    now += 10 * mels.length;
    return encode(mels, type);
  });
  const stepped = new Set<string>();
  const step = model.decoder.step.bind(model.decoder);
  vi.spyOn(model.decoder, 'step').mockImplementation((batch, tokens, range) => {
    now += Math.max(40, 10 * tokens.length);
    stepped.add(`${batch.rows} rows, ${tokens.length} tokens`);
    return step(batch, tokens, range);
  });
  const clock: Pick<Clock, 'monotonic'> = { monotonic: () => now };
  const { decoder } = await warmUpWhisper(model, 'auto', clock as Clock);
  await model.close();
  expect([...stepped]).toEqual([1, 2, 4, 8].map((rows) => `${rows} rows, ${rows} tokens`));
  expect(decoder.measurements).toEqual([
    [1, 40],
    [2, 40],
    [4, 40],
    [8, 80],
  ]);
  expect(decoder.ceiling).toBe(32);
  expect(decoder.rows).toBe(4);
});

test('On a CPU an encoder call has as many windows as their attention has memory for, and at least one', () => {
  const window = { audioPositions: 1500 };
  // Whisper base, small and large, then a model with windows of 5 s.
  expect(mostEncoderRows({ ...window, heads: 8 }, 'cpu')).toBe(2);
  expect(mostEncoderRows({ ...window, heads: 12 }, 'cpu')).toBe(1);
  expect(mostEncoderRows({ ...window, heads: 20 }, 'cpu')).toBe(1);
  expect(mostEncoderRows({ audioPositions: 250, heads: 4 }, 'cpu')).toBe(8);
  expect(mostEncoderRows({ ...window, heads: 20 }, 'cuda')).toBe(8);
});
