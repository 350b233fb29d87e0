import { expect, test } from 'vitest';
import type { WorkerStatus } from '../../../../packages/shared/src/index.ts';
import { modelSharesOf } from './fleet-view.ts';

const worker = (...refs: string[]): WorkerStatus => ({
  id: `w-${refs.join()}` as WorkerStatus['id'],
  started_at: 0,
  tasks: ['diffusion'],
  draining: false,
  models: refs.map((ref) => ({ ref, batching: 'step', providers: { unet: 'cpu' } })),
  unavailable: [],
  jobs: 0,
  lanes: [],
});

test('Workers run all jobs of a model that only they serve, and their part of a model that others serve too', () => {
  const fleet = [worker('a@1'), worker('a@1', 'b@1'), worker('b@1'), worker('c@1')];
  expect(modelSharesOf('a@1', fleet)).toEqual({
    workers: 2,
    shares: new Map([
      ['a@1', 1],
      ['b@1', 0.5],
    ]),
  });
});

test('Without workers the model itself counts fully', () => {
  const shares = new Map([['a@1', 1]]);
  expect(modelSharesOf('a@1', [])).toEqual({ workers: 0, shares });
  expect(modelSharesOf('a@1', [{ ...worker('a@1'), draining: true }])).toEqual({ workers: 0, shares });
});
