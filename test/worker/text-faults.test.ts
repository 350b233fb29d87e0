/** Text jobs on a device whose results are not numbers for some texts. */
import { expect, test } from 'vitest';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { InferenceRuntime, RuntimeSession } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { floatTensor, floatValues, type Tensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { openTextEngine } from '../support/text-engine.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';

/** Tokens of the texts that the device computes NaN for; the values of padding are NaN for all texts. */
const SPOILED_LENGTH = 3;

const spoiling: InferenceRuntime = {
  load: async (graph, options) => {
    const session = await onnxRuntime.load(graph, options);
    const run: RuntimeSession['run'] = async (feeds, outputs) => {
      const results = await session.run(feeds, outputs);
      return Object.fromEntries(
        Object.entries(results).map(([name, tensor]) => [name, spoiled(tensor, feeds.attention_mask)]),
      );
    };
    return new Proxy(session, {
      get: (target, name) => {
        if (name === 'run') return run;
        const value = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  },
};

function spoiled(tensor: Tensor, mask: Tensor): Tensor {
  const values = Float32Array.from(floatValues(tensor));
  const [texts, length] = mask.dims;
  const real = Array.from(mask.data as BigInt64Array, Number);
  const size = values.length / texts;
  for (let text = 0; text < texts; text += 1) {
    const tokens = real.slice(text * length, (text + 1) * length).reduce((sum, each) => sum + each, 0);
    const from = tokens === SPOILED_LENGTH ? 0 : (tokens * size) / length;
    values.fill(Number.NaN, text * size + from, (text + 1) * size);
  }
  return floatTensor('float32', values, tensor.dims);
}

test('Values that are not finite fail the job of their text alone, and those of padding fail none', async () => {
  const folder = await tempFolder('text-faults');
  unpackTextFixture('bert-sentences', folder);
  const engine = await openTextEngine(folder, { runtime: spoiling });
  const work = { type: 'text-embedding', normalize: null, dimensions: null } as const;
  try {
    const good = engine.answer([{ texts: ['a red circle', 'a red circle and a blue circle'], work }]);
    const bad = engine.answer([{ texts: ['a red circle', 'a'], work }]).catch(() => {});
    const [{ answers }] = await good;
    if (answers.type !== 'text-embedding') throw new Error(answers.type);
    expect(answers.values.every(Number.isFinite)).toBe(true);
    await bad;
    const failures = engine.messages.filter(({ type }) => type === 'failed');
    expect(failures).toMatchObject([{ failure: { code: 'numeric-error' } }]);
  } finally {
    await engine.close();
  }
});
