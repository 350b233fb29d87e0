import type { NodeState } from '@lehr/client';
import { expect, test } from 'vitest';
import { workflowLayout } from './workflow-layout.ts';

const node = (id: string): NodeState => ({
  id,
  type: 'text-to-image',
  model: 'tiny@1',
  job: null,
  status: 'waiting',
  progress: null,
  output: null,
  error: null,
  metrics: null,
});

const placesOf = (layout: ReturnType<typeof workflowLayout>) =>
  Object.fromEntries(layout.nodes.map(({ node: { id }, column, row }) => [id, [column, row]]));

test('A node stands in the column after the last node that it uses', () => {
  const input = {
    nodes: [
      { id: 'both', input: { prompt: '{{a.text}} and {{ b.text }}' } },
      { id: 'a', input: { audio: 'x' } },
      { id: 'b', input: { texts: ['{{a.text}}'] } },
      { id: 'alone', input: { prompt: 'a {{ghost.text}}' } },
    ],
  };
  const layout = workflowLayout({ input, nodes: ['both', 'a', 'b', 'alone'].map(node) });
  expect(placesOf(layout)).toEqual({ a: [0, 0], alone: [0, 1], b: [1, 0], both: [2, 0] });
  expect(layout.edges).toEqual([
    ['a', 'both'],
    ['b', 'both'],
    ['a', 'b'],
  ]);
  expect([layout.columns, layout.rows]).toEqual([3, 2]);
});

test('The nodes of a speech-to-image job follow one another', () => {
  const layout = workflowLayout({ input: { audio: 'x' }, nodes: ['transcribe', 'draw'].map(node) });
  expect(placesOf(layout)).toEqual({ transcribe: [0, 0], draw: [1, 0] });
  expect(layout.edges).toEqual([['transcribe', 'draw']]);
});

test('A job without nodes has an empty picture', () => {
  expect(workflowLayout({ input: {} })).toEqual({ nodes: [], edges: [], columns: 0, rows: 0 });
});
