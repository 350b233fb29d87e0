/** Batches and schedules in the studio, in a real browser over real processes. */
import { describe, expect, test } from 'vitest';
import type { Schedule } from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { DESK } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();
const request = { type: 'text-to-image', input: { prompt: 'a red circle', steps: 2 } };

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
});
