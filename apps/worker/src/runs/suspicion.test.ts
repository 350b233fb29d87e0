import { expect, test } from 'vitest';
import type { SampleId } from '../engine/protocol.ts';
import { Suspicion } from './suspicion.ts';

const ids = (count: number): SampleId[] => Array.from({ length: count }, (_, i) => `s${i}` as SampleId);

/** Runs batches as the lane would, with the allowed batch mates, until nobody is left; `poison` crashes every batch it is in. */
function hunt(
  samples: SampleId[],
  poison: SampleId,
  signal: string | null,
): { crashes: number; failed: SampleId[] } {
  const suspicion = new Suspicion();
  let left = samples;
  let crashes = 0;
  const failed: SampleId[] = [];
  while (left.length > 0) {
    const turn = left.slice(0, Math.min(...left.map((id) => suspicion.maxBatchMates(id)), 8));
    if (turn.includes(poison)) {
      crashes += 1;
      failed.push(...suspicion.crashed(turn, signal).guilty);
      left = left.filter((id) => !failed.includes(id));
    } else {
      left = left.filter((id) => !turn.includes(id));
    }
  }
  return { crashes, failed };
}

test('in a batch of eight the one that crashes is found in four crashes and nobody else fails', () => {
  for (const poison of ids(8)) {
    expect(hunt(ids(8), poison, 'SIGSEGV')).toEqual({ crashes: 4, failed: [poison] });
  }
});

test('one kill from outside condemns nobody, not even a sample that was alone', () => {
  const suspicion = new Suspicion();
  expect(suspicion.crashed(ids(1), 'SIGKILL').guilty).toEqual([]);
  expect(suspicion.crashed(ids(1), 'SIGKILL').guilty).toEqual(ids(1));
});

test('a sample that was near six crashes is given up whatever the batch size', () => {
  const suspicion = new Suspicion();
  for (let crash = 1; crash < 6; crash++) expect(suspicion.crashed(ids(8), null).guilty).toEqual([]);
  expect(suspicion.crashed(ids(8), null).guilty).toEqual(ids(8));
});

test('a sample that finished is no suspect any more', () => {
  const suspicion = new Suspicion();
  const [sample] = ids(1);
  suspicion.crashed(ids(4), null);
  expect(suspicion.maxBatchMates(sample)).toBe(2);
  suspicion.forget(sample);
  expect(suspicion.maxBatchMates(sample)).toBe(Number.MAX_SAFE_INTEGER);
});
