import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../../../test/support/tiny-models.ts';
import type { TrialSettings } from './trial.ts';
import { joined, TrialProcess } from './trial-pool.ts';

const SETTINGS: TrialSettings = {
  model: { task: 'whisper', folder: '/model' },
  session: { device: 'cpu', threads: 1, optimization: 'all' },
};
const WANTED = { rows: 2, calls: 1, job: false };

async function started(source: string): Promise<Awaited<ReturnType<typeof TrialProcess.start>>> {
  const entry = join(await tempFolder('trial'), 'entry.mjs');
  await writeFile(entry, source);
  const trial = await TrialProcess.start(SETTINGS, pathToFileURL(entry));
  onTestFinished(async () => void ('failure' in trial || (await trial.close())));
  return trial;
}

test('A trial answers one question after the other, with the settings that it was started with', async () => {
  const trial = await started(`
    const { session } = JSON.parse(process.argv[2]);
    process.on('message', ({ rows }) => process.send({ stepMs: [rows, session.threads], residentBytes: 1 }));
    process.send({ opened: true });
  `);
  if ('failure' in trial) throw new Error(trial.failure);
  expect(await trial.take(WANTED)).toEqual({ stepMs: [2, 1], residentBytes: 1 });
  expect(await trial.take({ ...WANTED, rows: 4 })).toMatchObject({ stepMs: [4, 1] });
});

test('A trial whose process dies is a failure that says how, at its start and at every question after it', async () => {
  expect(await started('console.error("no such library"); process.exit(3)')).toEqual({
    failure: 'the process ended (3): no such library',
  });
  const trial = await started(`
    process.on('message', () => process.kill(process.pid, 'SIGKILL'));
    process.send({ opened: true });
  `);
  if ('failure' in trial) throw new Error(trial.failure);
  const dead = { failure: 'the process ended (SIGKILL): ' };
  expect([await trial.take(WANTED), await trial.take(WANTED)]).toEqual([dead, dead]);
});

test('A model that does not open is a failure, and its process ends', async () => {
  expect(await started('process.send({ failure: "no graph" })')).toEqual({ failure: 'no graph' });
});

test('Of workers that share a device, all steps count, the slowest job, the memory of all, and any failure', () => {
  const one = { stepMs: [1, 2], jobMs: 5, residentBytes: 10 };
  const other = { stepMs: [3, 4], jobMs: 7, residentBytes: 20 };
  expect(joined([one, other])).toEqual({ stepMs: [1, 2, 3, 4], jobMs: 7, residentBytes: 30 });
  expect(joined([one, { failure: 'no memory' }])).toEqual({ failure: 'no memory' });
});
