import { expect, test } from 'vitest';
import { fromStoredNames, toStoredNames } from './stored-names.ts';

test('A workflow is stored under its older name, graph, and read back as a workflow', () => {
  const fields = { id: 'job_1', type: 'workflow', queue: 'graphs', workflow: '{"nodes":[]}' };
  const stored = { id: 'job_1', type: 'graph', queue: 'graphs', graph: '{"nodes":[]}' };
  expect(toStoredNames(fields)).toEqual(stored);
  expect(fromStoredNames(stored)).toEqual(fields);
});

test('A speech-to-image job keeps its type, and only its field has the older name', () => {
  const fields = { type: 'speech-to-image', workflow: '{}' };
  expect(toStoredNames(fields)).toEqual({ type: 'speech-to-image', graph: '{}' });
  expect(fromStoredNames(toStoredNames(fields))).toEqual(fields);
});

test('The record of a job that is no workflow is stored and read as it is', () => {
  const fields = { type: 'text-to-image', queue: 'diffusion.tiny@1' };
  expect(toStoredNames(fields)).toEqual(fields);
  expect(fromStoredNames(fields)).toEqual(fields);
});
