import { expect, test } from 'vitest';
import { fusionLines } from './check.ts';

test('Of a graph, it says what is fused and why other parts are not', () => {
  const operators = { GroupNorm: 19, NhwcConv: 35 };
  const left = { 'its heads are too large': 2 };
  expect(fusionLines({ attentions: 3, left })).toEqual([
    'attentions  3 fused',
    'attentions  2 as exported: its heads are too large',
  ]);
  expect(fusionLines({ attentions: 1, left: {}, cuda: { operators } })).toEqual([
    'attentions  1 fused',
    'operators   19 GroupNorm, 35 NhwcConv',
  ]);
  const some = { operators, left: { 'skip shape is not expected': 'GroupNorm' } };
  expect(fusionLines({ attentions: 0, left: {}, cuda: some })).toEqual([
    'operators   19 GroupNorm, 35 NhwcConv',
    'operators   1 GroupNorm as exported: skip shape is not expected',
  ]);
  const problem = 'the graph does not open with them: no kernel';
  expect(fusionLines({ attentions: 0, left: {}, cuda: { operators, problem } })).toEqual([
    `operators   as exported: ${problem}`,
  ]);
});
