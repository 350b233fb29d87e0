import { expect, test } from 'vitest';
import type { RuntimeSession } from '../runtime/runtime.ts';
import type { Tensor } from '../runtime/tensor.ts';
import { checkValues, TextGraph } from './text-graph.ts';

const texts = [[7, 8, 9], [7]].map((ids) => ({
  ids,
  typeIds: ids.map(() => 0),
  start: 0,
  count: ids.length,
  wasTruncated: false,
}));

/** The positions that the graph is given for the texts. */
async function positionsFrom(firstPosition: number): Promise<number[]> {
  let positions: number[] = [];
  const input = (name: string) => ({ name, type: 'int64' as const, dims: ['batch', 'length'] });
  const session: RuntimeSession = {
    provider: 'simulated',
    refusals: [],
    inputs: [input('input_ids'), input('position_ids')],
    outputs: [],
    placement: undefined,
    run: async (feeds: Readonly<Record<string, Tensor>>) => {
      positions = Array.from(feeds.position_ids.data as BigInt64Array, Number);
      return {};
    },
    close: async () => {},
  };
  await new TextGraph(session, { padId: 1, tokenTypes: 1, firstPosition }).run(texts, []);
  return positions;
}

test('Positions count from 0, and in models that reserve some for padding from the one after them', async () => {
  expect((await positionsFrom(0)).slice(0, 4)).toEqual([0, 1, 2, 0]);
  expect((await positionsFrom(2)).slice(0, 4)).toEqual([2, 3, 4, 2]);
});

const row = (values: readonly number[], width: number) => ({
  values: Float32Array.from(values),
  positions: values.length / width,
  width,
});
const numeric = expect.objectContaining({ code: 'numeric-error' });

test('Values of real tokens must be finite, and those of padding need not be', () => {
  const padded = row([1, 2, Number.NaN, Number.POSITIVE_INFINITY], 2);
  expect(() => checkValues(padded, 0, false)).not.toThrow();
  expect(() => checkValues(padded, 1, false)).toThrow(numeric);
  expect(() => checkValues(row([1, Number.NEGATIVE_INFINITY], 2), 0, false)).toThrow(numeric);
});

test('Under softmax some logits may be -Infinity, never all, and none may be NaN or Infinity', () => {
  const never = Number.NEGATIVE_INFINITY;
  expect(() => checkValues(row([never, 2], 2), 0, true)).not.toThrow();
  for (const bad of [never, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => checkValues(row([never, bad], 2), 0, true)).toThrow(numeric);
  }
  expect(() => checkValues(row([1, 2, never, never], 2), 1, true)).toThrow(numeric);
});
