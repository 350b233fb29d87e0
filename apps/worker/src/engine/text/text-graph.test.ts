import { expect, test } from 'vitest';
import type { RuntimeSession } from '../runtime/runtime.ts';
import type { Tensor } from '../runtime/tensor.ts';
import { TextGraph } from './text-graph.ts';

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
