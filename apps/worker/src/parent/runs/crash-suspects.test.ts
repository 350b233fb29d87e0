import { expect, test } from 'vitest';
import type { SampleId } from '../../engine/protocol/messages.ts';
import { CrashSuspects } from './crash-suspects.ts';

const ids = (count: number): SampleId[] => Array.from({ length: count }, (_, i) => `s${i}` as SampleId);

/** Runs batches as a lane would, with the allowed batch mates, until no sample is left. `bad` crashes every batch it is in. */
function runAll(
  samples: SampleId[],
  bad: SampleId,
  signal: string | null,
): { crashes: number; failed: SampleId[] } {
  const suspects = new CrashSuspects();
  let left = samples;
  let crashes = 0;
  const failed: SampleId[] = [];
  while (left.length > 0) {
    const batch = left.slice(0, Math.min(...left.map((id) => suspects.maxBatchMates(id)), 8));
    if (batch.includes(bad)) {
      crashes += 1;
      failed.push(...suspects.crashed(batch, signal));
      left = left.filter((id) => !failed.includes(id));
    } else {
      left = left.filter((id) => !batch.includes(id));
    }
  }
  return { crashes, failed };
}

test('In a batch of eight the sample that crashes the engine is found in four crashes and no other sample fails', () => {
  for (const bad of ids(8)) {
    expect(runAll(ids(8), bad, 'SIGSEGV')).toEqual({ crashes: 4, failed: [bad] });
  }
});

test('A single kill from outside fails no sample, not even one that was alone in its batch', () => {
  const suspects = new CrashSuspects();
  expect(suspects.crashed(ids(1), 'SIGKILL')).toEqual([]);
  expect(suspects.crashed(ids(1), 'SIGKILL')).toEqual(ids(1));
});

test('A sample that was in six crashed batches fails whatever the batch size', () => {
  const suspects = new CrashSuspects();
  for (let crash = 1; crash < 6; crash++) expect(suspects.crashed(ids(8), null)).toEqual([]);
  expect(suspects.crashed(ids(8), null)).toEqual(ids(8));
});

test('A sample that has ended is no longer a suspect', () => {
  const suspects = new CrashSuspects();
  const [sample] = ids(1);
  suspects.crashed(ids(4), null);
  expect(suspects.maxBatchMates(sample)).toBe(2);
  suspects.forget(sample);
  expect(suspects.maxBatchMates(sample)).toBe(Number.MAX_SAFE_INTEGER);
});
