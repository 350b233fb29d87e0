import type { Job } from '@lehr/client';
import { expect, test } from 'vitest';
import { requestAgain, snippetOf } from './snippets.ts';

const job = {
  type: 'text-to-image',
  model: 'demo@1',
  priority: 'standard',
  metadata: {},
  input: { prompt: "a cat's eye", negative_prompt: '', seed: 7, language: null },
} as unknown as Job;

test('A shell line keeps a quote of the prompt, and leaves empty settings out', () => {
  const line = snippetOf('curl', requestAgain(job).body, 'http://lehr.test');
  expect(line).toContain(
    String.raw`'{"type":"text-to-image","model":"demo@1","input":{"prompt":"a cat'\''s eye","seed":7}}'`,
  );
});

test('The request of a workflow has its nodes as they were posted, each with the version of its model', () => {
  const nodes = [
    { id: 'draw', type: 'text-to-image', input: { prompt: 'a {{listen.text}}', seed: 3 } },
    { id: 'listen', type: 'speech-to-text', input: { audio: 'data:', language: null } },
  ];
  const workflow = {
    type: 'workflow',
    model: 'whisper@2+demo@1',
    priority: 'bulk',
    metadata: { order: '81' },
    input: { nodes },
    nodes: [
      { id: 'listen', model: 'whisper@2' },
      { id: 'draw', model: 'demo@1' },
    ],
  } as unknown as Job;
  expect(requestAgain(workflow)).toEqual({
    body: {
      type: 'workflow',
      nodes: [
        { ...nodes[0], model: 'demo@1' },
        { ...nodes[1], model: 'whisper@2', input: { audio: 'FILL IN' } },
      ],
      priority: 'bulk',
      metadata: { order: '81' },
    },
    missing: ['listen.audio'],
  });
});

test('Texts that are stored outside of the record are named as missing', () => {
  const many = { ...job, type: 'text-embedding', input: { texts: { count: 900 }, truncate: true } } as Job;
  const { body, missing } = requestAgain(many);
  expect(missing).toEqual(['texts']);
  expect(body).toMatchObject({ input: { texts: ['FILL IN'], truncate: true } });
});
