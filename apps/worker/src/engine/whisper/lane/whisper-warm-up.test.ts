import { writeTinyWhisper } from '@lehr/demo-models';
import type { Clock } from '@lehr/shared';
import { expect, test, vi } from 'vitest';
import { tempFolder } from '../../../../../../test/support/tiny-models.ts';
import { onnxRuntime } from '../../runtime/onnx.ts';
import { openWhisperModel } from '../folder/whisper-folder.ts';
import { mostEncoderRows, warmUpWhisper } from './whisper-warm-up.ts';

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
