/** Moving the jobs that wait, from the studio: a real browser over a real API, and a worker with a slow simulated device. */
import type { Locator } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type Job, JobSchema } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { speechModels } from '../support/speech-models.ts';
import type { Stack } from '../support/stack.ts';
import { startSimulatedWorker } from '../support/start-simulated-worker.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { DESK, faultsOf } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();
/** With MANY_STEPS, the running job takes longer than the test. */
const SLOW = { stepBaseMs: 1000, stepPerRowMs: 0, pictureMs: 1, textMs: 1 };
const MANY_STEPS = { steps: 500 };
/** With guidance, a picture takes two rows: one job runs, the others wait. */
const ONE_JOB = 2;

const jobOf = async (stack: Stack, { id }: Job): Promise<Job> =>
  JobSchema.parse(await (await stack.ask('GET', `/v1/jobs/${id}`)).json());

/** A stack whose worker runs one job of version 2, for which three others wait. */
async function busyStack() {
  const [home, models] = [await tempFolder('home'), await speechModels({ canary: true })];
  const stack = await demoStack(world.redis, { LEHR_MODELS: models, LEHR_HOME: home });
  const worker = await startSimulatedWorker({
    redisUrl: world.redis.url,
    namespace: stack.namespace,
    home,
    modelsFile: models,
    latency: SLOW,
    rowCap: ONE_JOB,
  });
  const deploy = { version: '2', weight: 100, reason: 'sharper hands' };
  await expect
    .poll(async () => (await stack.ask('PUT', '/v1/rollouts/brush', deploy)).status, { timeout: 30_000 })
    .toBe(200);
  const running = await stack.post(MANY_STEPS);
  await expect.poll(async () => (await jobOf(stack, running)).status, { timeout: 30_000 }).toBe('running');
  const waiting: Job[] = [];
  for (let i = 0; i < 3; i += 1) waiting.push(await stack.post(MANY_STEPS));
  expect([running, ...waiting].map(({ model }) => model)).toEqual(Array(4).fill('brush@2'));
  return { stack, worker, running, waiting };
}

const said = (card: Locator): Locator => card.locator('.rollout-moved');

describe.skipIf(!chromiumPath)('waiting jobs in the studio', () => {
  test('Jobs that wait for a version are moved when it is rolled back, the form says how many, and shows what the API refuses', {
    timeout: 240_000,
  }, async () => {
    const { stack, worker, running, waiting } = await busyStack();
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await page.goto(`${stack.url}/studio/admin/traffic`);
    await page.getByText('Change the shares of the versions').click();
    const card = page.getByRole('region', { name: 'Versions of brush' });
    await card.getByLabel('Reason').fill('colours are off');
    await card.getByRole('checkbox', { name: 'Also move the jobs that wait' }).check();
    expect(await faultsOf(page)).toEqual([]);
    await card.getByRole('button', { name: 'Roll back' }).click();
    await card.getByText('All callers get version 1').waitFor();
    await said(card).getByText('3 waiting jobs were moved to version 1.').waitFor();
    for (const job of waiting)
      expect(await jobOf(stack, job)).toMatchObject({ model: 'brush@1', moved_from: 'brush@2' });
    expect(await jobOf(stack, running)).toMatchObject({ model: 'brush@2', status: 'running' });

    await card.getByRole('button', { name: 'Move waiting jobs' }).click();
    await said(card).getByText('No waiting job was moved to version 1.').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);

    for (const { id } of [running, ...waiting]) await stack.ask('DELETE', `/v1/jobs/${id}`);
    await worker.stop();
    await card.getByRole('button', { name: 'Move waiting jobs' }).click();
    await card.getByRole('alert').getByText('No live worker').waitFor();
    expect(await said(card).textContent()).toBe('');
    // The browser reports every refused request.
    expect(complaints).toEqual([expect.stringContaining('409')]);
  });
});
