import { rm, writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { UNREACHABLE_URL } from '../support/ports.ts';

/** What a worker writes that ends before it serves anything. No Redis answers: the configuration is checked first. */
async function refused(env: Record<string, string>): Promise<{ code: unknown; text: string }> {
  const worker = startLehr('worker', {
    ...(await installation(`redis://${new URL(UNREACHABLE_URL).host}`)),
    ...env,
  });
  const code = await worker.exited();
  return { code, text: worker.lines.map(({ msg }) => msg).join('\n') };
}

test('A worker reports every fault of its configuration in one message and without a stack', async () => {
  const { code, text } = await refused({
    LEHR_MODELS: '/nowhere/models.yaml',
    LEHR_TASKS: 'painting',
    LEHR_S3_BUCKET: 'x',
    LEHR_EGRESS_ALLOW: '10.0.0.0/99',
    LEHR_WORKERPORT: '1',
  });
  expect(code).toBe(78);
  expect(text.split('\n')).toEqual([
    'lehr worker: Configuration is not usable:',
    '  - LEHR_S3_BUCKET is "x": must have at least 3 characters',
    expect.stringContaining('LEHR_EGRESS_ALLOW is "10.0.0.0/99"'),
    '  - LEHR_TASKS is "painting": must be one of diffusion, whisper, text, transform, or several of them with commas',
    '  - LEHR_WORKERPORT is not a variable of Lehr: did you mean LEHR_WORKER_PORT?',
    '  - LEHR_MODELS is "/nowhere/models.yaml": it does not exist',
  ]);
});

test('A worker that cannot reach Redis says so in one line and may be restarted', async () => {
  const { code, text } = await refused({});
  expect(code).toBe(69);
  expect(text).toBe(`lehr worker: Redis does not answer at ${new URL(UNREACHABLE_URL).host}`);
});

test('A worker whose models file has no model of its tasks does not start', async () => {
  const { code, text } = await refused({ LEHR_TASKS: 'whisper' });
  expect(code).toBe(78);
  expect(text).toMatch(/LEHR_TASKS is "whisper": .*models\.yaml has no model of this task/);
});

test('A models file that is not valid is reported by the worker with the place of each fault', async () => {
  const file = `/tmp/lehr-models-${process.pid}.yaml`;
  onTestFinished(() => rm(file, { force: true }));
  await writeFile(file, 'models: [{ name: Tiny, task: diffusion }]');
  const { code, text } = await refused({ LEHR_MODELS: file });
  expect(code).toBe(78);
  expect(text).toContain('models.0.name');
  expect(text).toContain('models.0.versions');
});
