/** What administrators change in the studio, in a real browser over real processes: rollouts of models, and limits of keys. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import {
  ApiKeyListSchema,
  NewApiKeySchema,
  QueueListSchema,
  RolloutSchema,
} from '../../packages/shared/src/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { speechModels } from '../support/speech-models.ts';
import type { Stack } from '../support/stack.ts';
import { DESK, faultsOf } from './look-at.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

const rolloutOf = async (stack: Stack) =>
  RolloutSchema.parse(await (await stack.ask('GET', '/v1/rollouts/brush')).json());

/** How many live workers have reported that they serve a version. */
async function workersOf(stack: Stack, ref: string): Promise<number | undefined> {
  const { models } = QueueListSchema.parse(await (await stack.ask('GET', '/v1/queues')).json());
  return models.find(({ model }) => model === ref)?.workers;
}

/** Gives the reason and presses the button; resolves when the page says that it is done. */
async function press(page: Page, button: string, reason: string, done: string): Promise<void> {
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: button }).click();
  await page.locator('.toast', { hasText: done }).waitFor();
}

describe.skipIf(!chromiumPath)('changes of an administrator', () => {
  test('A rollout is started with the keyboard, and paused, promoted and rolled back with a reason each', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis, { LEHR_MODELS: await speechModels({ canary: true }) });
    await stack.worker({ LEHR_TASKS: 'diffusion' });
    await expect.poll(() => workersOf(stack, 'brush@2'), { timeout: 30_000 }).toBe(1);
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await page.goto(`${stack.url}/studio/admin/models`);
    const card = page.getByRole('region', { name: 'Versions of brush' });
    await card.getByText('no rollout').waitFor();

    await card.getByRole('button', { name: 'Start the rollout' }).click();
    await card.getByText('Say why').waitFor();
    expect(await page.evaluate('document.activeElement.id')).toBe('reason-brush');
    expect((await stack.ask('GET', '/v1/rollouts/brush')).status).toBe(404);

    const slider = card.getByRole('slider', { name: 'Share of the callers' });
    await slider.focus();
    await page.keyboard.press('End');
    expect(await slider.getAttribute('aria-valuetext')).toBe('100 %');
    await card.getByLabel('Reason').fill('sharper hands');
    await page.keyboard.press('Enter');
    await card.getByText('100 % of the callers get version 2').waitFor();
    expect(await rolloutOf(stack)).toMatchObject({
      state: 'running',
      weight: 100,
      reason: 'sharper hands',
    });
    await expect.poll(async () => (await stack.over((await stack.post()).id)).model).toBe('brush@2');
    await expect
      .poll(() => card.locator('tr:has([data-role="canary"]) [data-name="Jobs ended"]').textContent())
      .not.toBe('0');

    await slider.focus();
    await page.keyboard.press('ArrowLeft');
    await press(page, 'Change the share', 'one less', 'The share is changed');
    expect((await rolloutOf(stack)).weight).toBe(99);
    await press(page, 'Pause', 'lunch', 'The rollout is paused');
    await card.getByText('All callers get version 1').waitFor();
    await press(page, 'Resume', 'lunch is over', 'The rollout continues');
    await press(page, 'Promote', 'no complaints', 'The version is promoted');
    await card.getByText('All callers get version 2').waitFor();
    await press(page, 'Roll back', 'colours are off', 'The version is rolled back');
    const { history } = await rolloutOf(stack);
    const reasons = [
      'colours are off',
      'no complaints',
      'lunch is over',
      'lunch',
      'one less',
      'sharper hands',
    ];
    expect(history.map(({ reason, by }) => [reason, by])).toEqual(reasons.map((reason) => [reason, 'root']));
    await expect.poll(() => card.locator('.rollout-history q').allTextContents()).toEqual(reasons);
    expect(await faultsOf(page)).toEqual([]);

    await page.goto(`${stack.url}/studio/admin/traffic`);
    await page.locator('.traffic-share', { hasText: /^100 %$/ }).waitFor();
    await page.getByText('Change the shares of the versions').click();
    await card.getByText('All callers get version 1').waitFor();
    expect(complaints).toEqual([]);
  });

  test('The limits of a key are changed in the studio, and what the API refuses is shown at its field', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { id } = NewApiKeySchema.parse(
      await (await stack.ask('POST', '/v1/keys', { tenant: 'acme', name: 'render farm' })).json(),
    );
    const limits = async () => {
      const { data } = ApiKeyListSchema.parse(await (await stack.ask('GET', '/v1/keys')).json());
      return data.find((key) => key.id === id)?.limits;
    };
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await page.goto(stack.url);
    await page.getByLabel('API key').fill(stack.key);
    await page.keyboard.press('Enter');
    await page.locator('#prompt').waitFor();
    await page.goto(`${stack.url}/studio/admin/keys`);
    const open = page.getByRole('button', { name: 'Change the limits of render farm' });
    await open.click();
    const dialog = page.getByRole('dialog', { name: 'Limits of render farm' });
    await dialog.getByLabel('Unfinished jobs of the tenant').fill('25');
    await dialog.getByLabel('Waiting jobs of the tenant').fill('10');
    await dialog.getByLabel('Event streams').fill('');
    await dialog.getByLabel('Most urgent class').selectOption('standard');
    expect(await faultsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.locator('.toast', { hasText: 'The limits are changed' }).waitFor();
    const changed = { max_jobs: 25, max_queued: 10, max_streams: null, max_priority: 'standard' };
    expect(await limits()).toMatchObject(changed);
    await page.getByText('25 unfinished jobs, 10 waiting jobs').waitFor();
    expect(complaints).toEqual([]);

    await open.click();
    await dialog.getByLabel('Share of the longest wait').fill('5');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('#limit-max_backlog_share-problem', { hasText: /\S/ }).waitFor();
    expect(await limits()).toMatchObject(changed);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    // The browser reports every refused request.
    expect(complaints).toEqual([expect.stringContaining('422')]);
  });
});
