import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyWhisper } from '@lehr/demo-models';
import { type Clock, LehrError, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whisperWindow } from '../../../../../../test/support/whisper-window.ts';
import { RowCap } from '../../lanes/row-cap.ts';
import type { FromEngine, SampleId, TranscribedMessage, WhisperSample } from '../../protocol/messages.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { Decoder } from '../decoder.ts';
import { readDecoderSizes } from '../decoder-graphs.ts';
import { readWhisperConfig } from '../folder/whisper-config.ts';
import { openWhisperModel, type WhisperModel } from '../folder/whisper-folder.ts';
import { LogitRules, SeededUniform } from '../logit-rules.ts';
import { WhisperLane } from './whisper-lane.ts';
import { WindowPrompt } from './window-prompt.ts';

const CPU = { providers: ['cpu'], threads: 1 } as const;

let folder: string;
let model: WhisperModel;
/** The same graphs, not rewired. */
let aligned: WhisperModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'lehr-whisper-lane-'));
  await writeTinyWhisper(folder, { seed: 5, crossAttentions: true });
  model = await openWhisperModel(folder, onnxRuntime, CPU);
  const session = await onnxRuntime.load({ path: join(folder, 'decoder_model_merged.onnx') }, CPU);
  const sessions = { first: session, next: session };
  const sizes = readDecoderSizes(sessions, (await readWhisperConfig(folder)).model);
  aligned = { ...model, decoder: new Decoder(sessions, sizes, { mode: 'aligned', reason: 'test' }) };
});
afterAll(async () => {
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

/** Synthetic log-mel, different for every seed. */
function melOf(seed: number): Float32Array {
  const [melBins, windowFrames] = [80, 200];
  const uniform = new SeededUniform(seed);
  const [pace, slant] = [5 + 50 * uniform.next(), 9 * uniform.next()];
  return Float32Array.from({ length: melBins * windowFrames }, (_, i) => {
    const [bin, frame] = [Math.floor(i / windowFrames), i % windowFrames];
    return 0.7 * Math.sin(frame / pace + bin * slant) + 0.6 * uniform.next() - 0.3;
  });
}

const request = (fields: Partial<WhisperSample> = {}): WhisperSample =>
  whisperWindow({ model: 'tiny@1', mel: melOf(fields.seed ?? 1), contentFrames: 200, ...fields });

/** With and without a given language, timestamps, temperature and fallback; prompts of many lengths. */
const mix = (): WhisperSample[] =>
  Array.from({ length: 20 }, (_, i) =>
    request({
      seed: 100 + i,
      language: [null, 'en', 'es'][i % 3],
      translate: i % 5 === 0,
      prompt: i % 4 === 1 ? 'the red cat' : '',
      previousTokens: i % 7 === 2 ? [1, 2, 3, 4] : [],
      temperature: i % 6 === 5 ? 0.5 : 0,
      fallback: i % 2 === 0,
      timestamps: (['none', 'segment', 'word'] as const)[i % 3],
      contentFrames: 200 - (i % 5) * 20,
    }),
  );

interface LaneFields {
  readonly model?: WhisperModel;
  readonly clock?: Clock;
  readonly rowCap?: number;
  readonly encoderCap?: number;
  readonly ladder?: readonly number[];
}

function laneOf({
  model: chosen = model,
  rowCap = 16,
  encoderCap = 2,
  ladder = [],
  clock = systemClock,
}: LaneFields = {}) {
  const posted: FromEngine[] = [];
  const cap = new RowCap({ ceiling: rowCap, fixed: true });
  const lane = new WhisperLane({
    name: 'whisper.tiny@1',
    model: chosen,
    cap,
    encoderCap: new RowCap({ ceiling: encoderCap, fixed: true }),
    ladder,
    clock,
    post: (message) => posted.push(message),
  });
  const ofType = <Type extends FromEngine['type']>(type: Type) =>
    posted.filter((message): message is Extract<FromEngine, { type: Type }> => message.type === type);
  const runDry = async (): Promise<void> => {
    while (lane.hasWork) await lane.takeTurn();
  };
  return { lane, posted, ofType, runDry, cap };
}

/** A result without times and batch size, and with rounded probabilities. */
const essence = ({ batchSize: _, timings: __, ...result }: TranscribedMessage) => ({
  ...result,
  avgLogProbability: Math.round(result.avgLogProbability * 1e4),
  noSpeechProbability: Math.round(result.noSpeechProbability * 1e6),
});

async function alone(sample: WhisperSample, fields: LaneFields = {}): Promise<TranscribedMessage> {
  const { lane, ofType, runDry } = laneOf(fields);
  lane.submit(sample);
  await runDry();
  return ofType('transcribed')[0];
}

describe('windows that arrive at different times', () => {
  const samples = mix();
  const apart = new Map<SampleId, TranscribedMessage>();
  beforeAll(async () => {
    for (const sample of samples) apart.set(sample.id, await alone(sample));
  });

  test.each([
    ['one batch for all', (): WhisperModel => model, 6],
    ['a batch for each length of text', (): WhisperModel => aligned, 2.5],
  ])(
    'Windows share decoder calls in %s, and each gets the same text as alone',
    async (_note, chosen, usualRows) => {
      const { lane, ofType, runDry } = laneOf({ model: chosen() });
      for (const sample of samples) {
        lane.submit(sample);
        for (let turn = 0; turn < 3; turn++) await lane.takeTurn();
      }
      await runDry();
      const results = ofType('transcribed');
      expect(results).toHaveLength(samples.length);
      for (const result of results) {
        expect(essence(result)).toEqual(essence(apart.get(result.sample) as TranscribedMessage));
      }
      expect(new Set(results.map(({ tokens }) => tokens.join())).size).toBeGreaterThan(15);
      const wrote = ofType('decoder-progress');
      const calls = wrote.reduce((sum, message) => sum + message.calls, 0);
      const tokens = wrote.reduce((sum, message) => sum + message.tokens, 0);
      expect(tokens / calls).toBeGreaterThan(usualRows);
    },
  );
});

test('A new window writes its first token in the next call of the windows that are decoding', async () => {
  const { lane, ofType, posted } = laneOf();
  const [early, late] = [request({ seed: 1, maxTokens: 60 }), request({ seed: 2 })];
  lane.submit(early);
  for (let turn = 0; turn < 5; turn++) await lane.takeTurn();
  lane.submit(late);
  // One turn to encode it, one to start it, one in the batch.
  for (let turn = 0; turn < 3; turn++) await lane.takeTurn();
  const turns = ofType('running').map(({ samples }) => samples);
  expect(turns.slice(-3)).toEqual([[late.id], [late.id], [early.id, late.id]]);
  expect(posted.filter(({ type }) => type === 'transcribed')).toEqual([]);
});

test('The decoder detects an unknown language, also in a batch, and the result names it', async () => {
  const { lane, ofType, runDry } = laneOf();
  for (let seed = 0; seed < 12; seed++) lane.submit(request({ language: null, seed }));
  await runDry();
  const languages = ofType('transcribed').map(({ language }) => language);
  expect(new Set(languages)).toEqual(new Set(['en', 'es']));
});

test('A bad text is decoded again at higher temperatures, and the result says at which', async () => {
  const sample = request({ seed: 4, timestamps: 'none', fallback: true });
  const [first, again] = [await alone({ ...sample, fallback: false }), await alone(sample)];
  expect(first.temperature).toBe(0);
  expect(first.avgLogProbability).toBeLessThan(-1);
  expect(again.temperature).toBe(1);
  expect(again.tokens).not.toEqual(first.tokens);
  expect(essence(again)).toEqual(essence(await alone(sample)));
  expect((await alone({ ...sample, seed: sample.seed + 1, mel: sample.mel })).tokens).not.toEqual(
    again.tokens,
  );
});

test('A segment is posted when it ends, and the result has the same segments', async () => {
  const { lane, ofType, runDry } = laneOf();
  const samples = Array.from({ length: 8 }, (_, seed) => request({ seed, timestamps: 'segment' }));
  for (const sample of samples) lane.submit(sample);
  await runDry();
  const ended = ofType('segment');
  expect(ended.length).toBeGreaterThan(4);
  for (const { id } of samples) {
    const { segments } = ofType('transcribed').find(({ sample }) => sample === id) as TranscribedMessage;
    const posted = ended.filter(({ sample }) => sample === id);
    expect(posted.every(({ provisional }) => !provisional)).toBe(true);
    expect(segments.slice(0, posted.length)).toEqual(posted.map(({ segment }) => segment));
  }
});

test('A segment is provisional while the window may still be decoded again', async () => {
  const { lane, ofType, runDry } = laneOf();
  lane.submit(request({ seed: 3, timestamps: 'segment', fallback: true }));
  await runDry();
  expect(ofType('transcribed')[0].temperature).toBe(1);
  const [last, ...before] = ofType('segment').reverse();
  expect(last.provisional).toBe(false);
  expect(before.length).toBeGreaterThan(0);
  expect(before.some(({ provisional }) => provisional)).toBe(true);
});

test('Words are timed inside the window, in order, and together are the text', async () => {
  const results = await Promise.all(
    [1, 2, 3].map((seed) => alone(request({ seed, timestamps: 'word', contentFrames: 150 }))),
  );
  for (const { words = [], segments } of results) {
    const letters = (text: string): string => text.replaceAll(/\s/g, '');
    expect(letters(words.map(({ word }) => word).join(''))).toBe(
      letters(segments.map(({ text }) => text).join('')),
    );
    let last = 0;
    for (const { start, end } of words) {
      expect(start).toBeGreaterThanOrEqual(last);
      expect(end).toBeGreaterThanOrEqual(start);
      last = end;
    }
    expect(last).toBeLessThanOrEqual(1.5 + 0.01);
  }
  expect(results.some(({ words }) => (words?.length ?? 0) > 1)).toBe(true);
});

test('A model without cross-attentions refuses word times and names the field', () => {
  const { lane } = laneOf({ model: { ...model, alignment: undefined } });
  expect(() => lane.submit(request({ timestamps: 'word' }))).toThrow(
    expect.objectContaining({
      code: 'invalid-input',
      message: expect.stringContaining('input.timestamps'),
      problems: [expect.objectContaining({ pointer: '/input/timestamps' })],
    }),
  );
  expect(lane.hasWork).toBe(false);
});

test('A cancelled window is not decoded further, whatever its state', async () => {
  const { lane, ofType, runDry } = laneOf();
  const samples = [1, 2, 3].map((seed) => request({ seed, maxTokens: 60 }));
  for (const sample of samples) lane.submit(sample);
  expect(lane.cancel(samples[2].id)).toBe(true);
  for (let turn = 0; turn < 8; turn++) await lane.takeTurn();
  expect(lane.cancel(samples[0].id)).toBe(true);
  expect(lane.cancel(samples[0].id)).toBe(false);
  const before = ofType('running').length;
  await runDry();
  const later = ofType('running')
    .slice(before)
    .flatMap(({ samples: ids }) => ids);
  expect(new Set(later)).toEqual(new Set([samples[1].id]));
  expect(ofType('transcribed').map(({ sample }) => sample)).toEqual([samples[1].id]);
});

test('A window that the encoder cannot take fails alone, and the others finish', async () => {
  const { lane, ofType, runDry } = laneOf({ encoderCap: 4 });
  const bad = request({ mel: new Float32Array(7) });
  const good = [1, 2, 3].map((seed) => request({ seed }));
  for (const sample of [good[0], bad, good[1], good[2]]) lane.submit(sample);
  await runDry();
  expect(ofType('failed')).toEqual([
    { type: 'failed', sample: bad.id, failure: { code: 'invalid-input', message: expect.any(String) } },
  ]);
  expect(ofType('transcribed')).toHaveLength(3);
});

test('A window whose log-mel is NaN fails alone, and the others finish', async () => {
  const { lane, ofType, runDry } = laneOf();
  const mel = new Float32Array(80 * 200).fill(Number.NaN);
  const bad = [request({ mel }), request({ mel, language: null })];
  const good = [1, 2, 3, 4].map((seed) => request({ seed }));
  for (const sample of [...bad, ...good]) lane.submit(sample);
  await runDry();
  expect(ofType('failed').map(({ sample, failure }) => [sample, failure.code])).toEqual(
    bad.map(({ id }) => [id, 'numeric-error']),
  );
  for (const sample of good) {
    const shared = ofType('transcribed').find((result) => result.sample === sample.id) as TranscribedMessage;
    expect(essence(shared)).toEqual(essence(await alone(sample)));
  }
});

/** The same object with one method replaced. Methods run on the original, which has the private fields. */
const withMethod = <Target extends object>(original: Target, name: keyof Target, method: unknown): Target =>
  new Proxy(original, {
    get(target, key) {
      const value = key === name ? method : Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** The same model with a decoder whose calls fail with more than two rows. */
function modelForTwoRows(): WhisperModel {
  const step: Decoder['step'] = async (batch, tokens, range = {}) => {
    const { from = 0, to = batch.rows } = range;
    if (to - from > 2) throw new LehrError('out-of-memory', 'no memory');
    return model.decoder.step(batch, tokens, range);
  };
  return { ...model, decoder: withMethod(model.decoder, 'step', step) };
}

test('When the device runs out of memory the batch is split, all windows finish, and the row cap is lowered', async () => {
  const samples = [1, 2, 3, 4, 5].map((seed) => request({ seed }));
  const { lane, ofType, runDry, cap } = laneOf({ model: modelForTwoRows() });
  for (const sample of samples) lane.submit(sample);
  await runDry();
  expect(ofType('failed')).toEqual([]);
  expect(cap.rows).toBeLessThanOrEqual(2);
  for (const sample of samples) {
    const split = ofType('transcribed').find((result) => result.sample === sample.id) as TranscribedMessage;
    expect(essence(split)).toEqual(essence(await alone(sample)));
  }
});

test('The lane never has more windows than its row cap, and the oldest go first', async () => {
  const { lane, ofType, runDry } = laneOf({ rowCap: 3 });
  const samples = Array.from({ length: 7 }, (_, seed) => request({ seed }));
  for (const sample of samples) lane.submit(sample);
  await runDry();
  const turns = ofType('running').map(({ samples: ids }) => ids);
  expect(Math.max(...turns.map((ids) => ids.length))).toBe(3);
  const firstSeen = [...new Set(turns.flat())];
  expect(firstSeen).toEqual(samples.map(({ id }) => id));
  expect(ofType('row-cap')).toEqual([{ type: 'row-cap', lane: 'whisper.tiny@1', rows: 3 }]);
});

test('Calls padded to a rung of the ladder write the same text', async () => {
  const shapes = new Set<string>();
  const step: Decoder['step'] = (batch, tokens, range = {}) => {
    shapes.add(`${range.to}->${range.padTo}`);
    return model.decoder.step(batch, tokens, range);
  };
  const watched = { ...model, decoder: withMethod(model.decoder, 'step', step) };
  const { lane, ofType, runDry } = laneOf({ model: watched, ladder: [1, 2, 4, 8], encoderCap: 8 });
  const samples = [1, 2, 3, 4, 5, 6].map((seed) => request({ seed }));
  for (const sample of samples) lane.submit(sample);
  await runDry();
  expect([...shapes]).toEqual(expect.arrayContaining(['6->8', '3->4', '1->1']));
  expect(
    ofType('running')
      .slice(0, 4)
      .map(({ samples: ids }) => ids.length),
  ).toEqual([4, 4, 2, 2]);
  for (const sample of samples) {
    const padded = ofType('transcribed').find((result) => result.sample === sample.id) as TranscribedMessage;
    expect(essence(padded)).toEqual(essence(await alone(sample)));
  }
});

test('Many windows to encode delay the decoder only for a limited time', async () => {
  let now = 0;
  const encode: WhisperModel['encoder']['encode'] = (mels, type) => {
    now += 900;
    return model.encoder.encode(mels, type);
  };
  const step: Decoder['step'] = (...call) => {
    now += 10;
    return model.decoder.step(...call);
  };
  const slow = {
    ...model,
    encoder: withMethod(model.encoder, 'encode', encode),
    decoder: withMethod(model.decoder, 'step', step),
  };
  const { lane, ofType } = laneOf({
    model: slow,
    encoderCap: 1,
    clock: { ...systemClock, monotonic: () => now },
  });
  lane.submit(request({ seed: 11, maxTokens: 90 }));
  for (let turn = 0; turn < 3; turn++) await lane.takeTurn();
  for (let seed = 0; seed < 9; seed++) lane.submit(request({ seed, maxTokens: 90 }));
  for (let turn = 0; turn < 16; turn++) await lane.takeTurn();
  const sizes = ofType('running').map(({ samples }) => samples.length);
  // Three windows are encoded and started (2.7 s), then all four are decoded until the delay is below 2 s.
  expect(sizes.slice(3)).toEqual([...new Array(6).fill(1), ...new Array(10).fill(4)]);
});

test('A window with maxBatchMates has at most that many windows in its batch, itself included', async () => {
  const { lane, ofType, runDry } = laneOf();
  for (let seed = 0; seed < 4; seed++) lane.submit(request({ seed, maxBatchMates: 2 }));
  await runDry();
  expect(ofType('transcribed')).toHaveLength(4);
  expect(Math.max(...ofType('running').map(({ samples }) => samples.length))).toBe(2);
});

test('A text that does not end fills the context of the decoder, and its last token needs no place there', async () => {
  const { maxTokens } = model.decoder.sizes;
  const { end } = model.tokenizer.special;
  // Without an end token, no text ends before it is full.
  const rules = new LogitRules(model.tokenizer.special, {
    suppress: [end],
    beginSuppress: [],
    maxInitialTimestamp: undefined,
  });
  const previousTokens = new Array<number>(maxTokens).fill(5);
  const { tokens } = await alone(request({ previousTokens }), { model: { ...model, rules } });
  const prompt = new WindowPrompt(request({ previousTokens }), model).tokens;
  expect(tokens).toHaveLength(maxTokens + 1 - prompt.length);
});

describe('what the next window is told', () => {
  const room = (): number => Math.floor(model.decoder.sizes.maxTokens / 2) - 1;

  test('It is what this window was told and the tokens of its segments, as much as fits', async () => {
    const sample = request({ seed: 6, timestamps: 'segment', prompt: 'the red cat' });
    const prompt = model.tokenizer.encodeEnd(' the red cat', room());
    const first = await alone(sample);
    expect(first.tokens).not.toEqual([]);
    expect(first.nextContext).toEqual([...prompt, ...first.tokens].slice(-room()));
    const second = await alone({ ...sample, prompt: '', previousTokens: first.nextContext });
    expect(second.nextContext).toEqual([...first.nextContext, ...second.tokens].slice(-room()));
    expect((await alone({ ...sample, prompt: '' })).tokens).not.toEqual(second.tokens);
  });

  test('It is nothing after a text that was decoded above temperature 0.5', async () => {
    const sample = request({ seed: 6, timestamps: 'segment', previousTokens: [5, 6, 7] });
    expect((await alone({ ...sample, temperature: 0.6 })).nextContext).toEqual([]);
    expect((await alone({ ...sample, temperature: 0.4 })).nextContext.slice(0, 3)).toEqual([5, 6, 7]);
  });

  test('It is nothing when the folder of the model says so, after the first window', async () => {
    const sample = request({ seed: 6, timestamps: 'segment', prompt: 'the red cat' });
    const first = await alone(sample, { model: { ...model, conditionsOnPrevious: false } });
    expect(first.tokens).not.toEqual([]);
    expect(first.nextContext).toEqual([]);
    // The caller's own prompt is used nevertheless.
    expect(first.tokens).not.toEqual((await alone({ ...sample, prompt: '' })).tokens);
  });

  test('A window without speech changes nothing of it', () => {
    const prompt = new WindowPrompt(request({ previousTokens: [5, 6, 7] }), {
      ...model,
      conditionsOnPrevious: false,
    });
    expect(prompt.nextContext({ tokens: [], temperature: 1, isSilence: true })).toEqual([5, 6, 7]);
    expect(prompt.nextContext({ tokens: [], temperature: 1, isSilence: false })).toEqual([]);
  });
});

test('A request that the model cannot serve is refused before any call', () => {
  const { lane } = laneOf();
  expect(() => lane.submit(request({ language: 'xx' }))).toThrow(
    expect.objectContaining({ code: 'invalid-input' }),
  );
  expect(lane.hasWork).toBe(false);
});
