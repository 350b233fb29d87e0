import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeTinyWhisper } from '@lehr/demo-models';
import { type Clock, LehrError, systemClock } from '@lehr/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { whisperWindow } from '../../../../../test/support/whisper-window.ts';
import { readWhisperConfig } from '../../models/whisper/whisper-config.ts';
import { openWhisperModel, type WhisperModel } from '../../models/whisper/whisper-folder.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { Decoder } from '../../whisper/decoder.ts';
import { readDecoderSizes } from '../../whisper/decoder-graphs.ts';
import { SeededUniform } from '../../whisper/token-choice.ts';
import type { FromEngine, SampleId, TranscribedMessage, WhisperSample } from '../protocol.ts';
import { RowCap } from '../row-cap.ts';
import { WhisperLane } from './whisper-lane.ts';

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

/** Made-up sound, another for every seed. */
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

/** Languages told and not, prompts of many lengths, times and none, greedy and not, with and without a second try. */
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

/** What counts of a result: not when it was made nor which windows shared its batch; probabilities but for their last digits. */
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

describe('windows that come at different times', () => {
  const samples = mix();
  const apart = new Map<SampleId, TranscribedMessage>();
  beforeAll(async () => {
    for (const sample of samples) apart.set(sample.id, await alone(sample));
  });

  test.each([
    ['one batch for all', (): WhisperModel => model, 6],
    ['a batch for each length of text', (): WhisperModel => aligned, 2.5],
  ])('share calls in %s, and each writes what it writes alone', async (_note, chosen, usualRows) => {
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
  });
});

test('a newcomer writes its first token with the next call of those who write already', async () => {
  const { lane, ofType, posted } = laneOf();
  const [early, late] = [request({ seed: 1, maxTokens: 60 }), request({ seed: 2 })];
  lane.submit(early);
  for (let turn = 0; turn < 5; turn++) await lane.takeTurn();
  lane.submit(late);
  // Encoded, started, and in the batch.
  for (let turn = 0; turn < 3; turn++) await lane.takeTurn();
  const turns = ofType('running').map(({ samples }) => samples);
  expect(turns.slice(-3)).toEqual([[late.id], [late.id], [early.id, late.id]]);
  expect(posted.filter(({ type }) => type === 'transcribed')).toEqual([]);
});

test('an unknown language is heard by the decoder, alone and in a batch, and told back', async () => {
  const { lane, ofType, runDry } = laneOf();
  for (let seed = 0; seed < 12; seed++) lane.submit(request({ language: null, seed }));
  await runDry();
  const languages = ofType('transcribed').map(({ language }) => language);
  expect(new Set(languages)).toEqual(new Set(['en', 'es']));
});

test('text that came out badly is written again at higher temperatures, and says at which', async () => {
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

test('segments are told as they end, and are those of the result', async () => {
  const { lane, ofType, runDry } = laneOf();
  const samples = Array.from({ length: 8 }, (_, seed) => request({ seed, timestamps: 'segment' }));
  for (const sample of samples) lane.submit(sample);
  await runDry();
  const heard = ofType('segment');
  expect(heard.length).toBeGreaterThan(4);
  for (const { id } of samples) {
    const { segments } = ofType('transcribed').find(({ sample }) => sample === id) as TranscribedMessage;
    const told = heard.filter(({ sample }) => sample === id);
    expect(told.every(({ provisional }) => !provisional)).toBe(true);
    expect(segments.slice(0, told.length)).toEqual(told.map(({ segment }) => segment));
  }
});

test('a segment is provisional as long as the window may be written again', async () => {
  const { lane, ofType, runDry } = laneOf();
  lane.submit(request({ seed: 3, timestamps: 'segment', fallback: true }));
  await runDry();
  expect(ofType('transcribed')[0].temperature).toBe(1);
  const [last, ...before] = ofType('segment').reverse();
  expect(last.provisional).toBe(false);
  expect(before.length).toBeGreaterThan(0);
  expect(before.some(({ provisional }) => provisional)).toBe(true);
});

test('words are timed inside the window, in order, and make up the text', async () => {
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

test('a model without cross-attentions refuses to time words, naming the field', () => {
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

test('a cancelled window is written no further, wherever it was', async () => {
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

test('a window that the encoder cannot take fails alone, its neighbours finish', async () => {
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

test('a window whose sound is no number fails alone, its neighbours finish', async () => {
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

/** The same part with one method replaced; private fields stay reachable. */
const replaced = <Part extends object>(part: Part, name: keyof Part, method: unknown): Part =>
  new Proxy(part, {
    get(target, key) {
      const value = key === name ? method : Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

/** The same model with a decoder whose calls fail with more than two rows. */
function frail(): WhisperModel {
  const step: Decoder['step'] = async (batch, tokens, range = {}) => {
    const { from = 0, to = batch.rows } = range;
    if (to - from > 2) throw new LehrError('out-of-memory', 'no memory');
    return model.decoder.step(batch, tokens, range);
  };
  return { ...model, decoder: replaced(model.decoder, 'step', step) };
}

test('when the device runs out of memory the batch is split, everybody finishes, and the cap comes down', async () => {
  const samples = [1, 2, 3, 4, 5].map((seed) => request({ seed }));
  const { lane, ofType, runDry, cap } = laneOf({ model: frail() });
  for (const sample of samples) lane.submit(sample);
  await runDry();
  expect(ofType('failed')).toEqual([]);
  expect(cap.rows).toBeLessThanOrEqual(2);
  for (const sample of samples) {
    const split = ofType('transcribed').find((result) => result.sample === sample.id) as TranscribedMessage;
    expect(essence(split)).toEqual(essence(await alone(sample)));
  }
});

test('no more windows are in the lane than the cap allows, and the oldest go first', async () => {
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

test('calls that are filled up to a ladder for the device write the same', async () => {
  const shapes = new Set<string>();
  const step: Decoder['step'] = (batch, tokens, range = {}) => {
    shapes.add(`${range.to}->${range.padTo}`);
    return model.decoder.step(batch, tokens, range);
  };
  const watched = { ...model, decoder: replaced(model.decoder, 'step', step) };
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

test('a pile of windows to encode holds up those who write only for so long', async () => {
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
    encoder: replaced(model.encoder, 'encode', encode),
    decoder: replaced(model.decoder, 'step', step),
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
  // Three windows are encoded and started (2.7 s), then all four write, until at most 2 s are owed.
  expect(sizes.slice(3)).toEqual([...new Array(6).fill(1), ...new Array(10).fill(4)]);
});

test('a window under suspicion shares its batch with at most the windows it is allowed', async () => {
  const { lane, ofType, runDry } = laneOf();
  for (let seed = 0; seed < 4; seed++) lane.submit(request({ seed, maxBatchMates: 2 }));
  await runDry();
  expect(ofType('transcribed')).toHaveLength(4);
  expect(Math.max(...ofType('running').map(({ samples }) => samples.length))).toBe(2);
});

test('earlier text is told to a model unless its folder says no', async () => {
  const sample = request({ seed: 6 });
  const earlier = [5, 6, 7, 8, 9];
  const deaf = { model: { ...model, conditionsOnPrevious: false } };
  const [told, untold] = [
    await alone({ ...sample, previousTokens: earlier }),
    await alone({ ...sample, previousTokens: earlier }, deaf),
  ];
  expect(essence(untold)).toEqual(essence(await alone(sample)));
  expect(told.tokens).not.toEqual(untold.tokens);
  // A caller's own prompt is another matter.
  expect((await alone({ ...sample, prompt: 'the red cat' }, deaf)).tokens).not.toEqual(untold.tokens);
});

test('what a model cannot do is refused before anything runs', () => {
  const { lane } = laneOf();
  expect(() => lane.submit(request({ language: 'xx' }))).toThrow(
    expect.objectContaining({ code: 'invalid-input' }),
  );
  expect(lane.hasWork).toBe(false);
});
