/** Batches and schedules in the studio, in a real browser over real processes. */
import { describe, expect, test } from 'vitest';
import type { Batch, Schedule } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { newTenant, type Stack } from '../support/stack.ts';
import { DESK } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();
const request = { type: 'text-to-image', input: { prompt: 'a red circle', steps: 2 } };

async function newBatch(stack: Stack, body: object): Promise<Batch> {
  const response = await stack.ask('POST', '/v1/batches', body);
  expect(response.status, await response.clone().text()).toBe(200);
  return (await response.json()) as Batch;
}

describe.skipIf(!chromiumPath)('batches and schedules', () => {
  test('A batch is followed to its end and its answers are fetched; a schedule is paused, goes on and is deleted', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    await stack.worker({ LEHR_TASKS: 'diffusion' });
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await page.getByLabel('Account').click();
    await page.getByRole('link', { name: 'Batches and schedules' }).click();
    await page.getByText('There is no batch.').waitFor();
    const sweep = { request, values: { seed: [1, 2, 3], steps: [2, 0] } };
    expect((await stack.ask('POST', '/v1/batches', { sweep })).status).toBe(422);
    const values = { seed: [1, 2, 3, 4] };
    const made = await stack.ask('POST', '/v1/batches', {
      sweep: { request, values },
      metadata: { name: 'four circles' },
    });
    expect(made.status).toBe(200);
    const batch = page.getByRole('row', { name: /four circles/ });
    await batch.getByText('4 of 4').waitFor();
    await batch.getByText('Done', { exact: true }).waitFor();
    const download = page.waitForEvent('download');
    await batch.getByRole('link', { name: 'Answers' }).click();
    expect((await download).suggestedFilename()).toMatch(/^batch_\w+\.jsonl$/);

    const schedule = { name: 'nightly', cron: '30 2 * * *', timezone: 'Europe/Berlin', request };
    const { id } = (await (await stack.ask('POST', '/v1/schedules', schedule)).json()) as Schedule;
    const row = page.getByRole('row', { name: /nightly/ });
    await row.getByRole('button', { name: 'Pause' }).click();
    await row.getByText('Paused').waitFor();
    await row.getByRole('button', { name: 'Go on' }).click();
    await row.getByText('Active').waitFor();
    await row.getByRole('button', { name: 'Delete' }).click();
    expect((await stack.ask('GET', `/v1/schedules/${id}`)).status).toBe(200);
    await row.getByRole('button', { name: 'Delete it?' }).click();
    await page.getByText('There is no schedule.').waitFor();
    expect((await stack.ask('GET', `/v1/schedules/${id}`)).status).toBe(404);
    expect(complaints).toEqual([]);
  });

  test('The page of a batch fills while it runs, names what each line has, and repeats what failed', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    // The model refuses 500 steps.
    const sweep = { request, values: { steps: [2, 500], seed: [7, 8] } };
    const { id } = await newBatch(stack, { sweep, metadata: { name: 'circles' } });
    await page.goto(`${stack.url}/studio/batches/${id}`);
    await page.getByRole('heading', { name: 'circles' }).waitFor();
    const lines = page.getByRole('list', { name: 'Lines' }).getByRole('listitem');
    await expect.poll(() => lines.count()).toBe(4);
    await lines.nth(2).getByText('steps is 500, must be at most').waitFor();
    await lines.nth(0).getByText('Waiting', { exact: true }).waitFor();
    await stack.worker({ LEHR_TASKS: 'diffusion' });
    await expect.poll(() => page.locator('.sheet .picture[data-loaded="true"]').count()).toBe(2);
    await page.getByText('2 of 4').waitFor();
    const picture = page.getByRole('link', { name: 'line-2, steps 2, seed 8' });
    expect((await page.request.get((await picture.getAttribute('href')) ?? '')).status()).toBe(200);
    await page.reload();
    await expect.poll(() => page.locator('.sheet .picture[data-loaded="true"]').count()).toBe(2);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Zip' }).click();
    expect((await download).suggestedFilename()).toBe(`${id}.zip`);
    await page.getByRole('button', { name: 'Repeat what failed' }).click();
    await page.getByRole('link', { name: 'The batch that it repeats' }).click();
    await page.getByText(id).waitFor();
    expect(complaints).toEqual([]);
  });

  test('A batch is read page by page, also after the API was killed, and is canceled on its page', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    const seed = Array.from({ length: 70 }, (_, i) => i);
    // Of so long a prompt a page of the API has fewer lines than one of the studio.
    const long = { ...request, input: { ...request.input, prompt: 'a red circle '.repeat(2_400) } };
    const { id } = await newBatch(stack, { sweep: { request: long, values: { seed } } });
    await page.goto(`${stack.url}/studio/batches/${id}`);
    await page.getByText('Lines 1 to 60 of 70').waitFor();
    await page.getByRole('button', { name: 'Further' }).click();
    await page.getByText('Lines 61 to 70 of 70').waitFor();
    stack.api.signal('SIGKILL');
    await page.getByText('Connection lost').waitFor();
    await stack.restartApi();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the rest?' }).click();
    await page.getByText('Canceled', { exact: true }).first().waitFor();
    await expect.poll(() => page.locator('.sheet').getByText('Canceled').count()).toBe(10);
    await page.getByRole('button', { name: 'Back', exact: true }).click();
    await page.getByText('Lines 1 to 60 of 70').waitFor();
  });

  test('The page of a batch that is not there, of another tenant, or of a file that is not valid says so', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    const other = await newBatch(await newTenant(stack), { requests: [request] });
    for (const id of ['batch_01jd3v9s6w0000000000000000', other.id]) {
      await page.goto(`${stack.url}/studio/batches/${id}`);
      await page.getByRole('alert').getByText('There is no such batch.').waitFor();
    }
    const body = new FormData();
    body.append('purpose', 'batch');
    body.append('file', new Blob(['{"custom_id": "a", "method": "POST"}']), 'lines.jsonl');
    const headers = { authorization: `Bearer ${stack.key}` };
    const file = await (await fetch(`${stack.url}/v1/files`, { method: 'POST', headers, body })).json();
    const { id } = await newBatch(stack, { input_file_id: (file as { id: string }).id });
    await page.goto(`${stack.url}/studio/batches/${id}`);
    await page.getByText('Line 1:').waitFor();
    await page.getByText('Failed', { exact: true }).waitFor();
  });
});
