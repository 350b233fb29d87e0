/** What the studio does when something ends under it: a session, a job's record, the API, or the attention of the person. */
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { type JobId, JobListSchema, NewApiKeySchema } from '../../packages/shared/src/index.ts';
import { keysOf } from '../../packages/shared/src/redis/index.ts';
import { chromiumPath } from '../support/browser.ts';
import { testRedis } from '../support/redis.ts';
import type { Stack } from '../support/stack.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { demoStack, enter, finished, make, openStudio, PROMPT, studioWorld } from './studio-world.ts';

const world = studioWorld();

/** The id of the newest job. */
async function newestJob(stack: Stack): Promise<string> {
  const { data } = JobListSchema.parse(await (await stack.ask('GET', '/v1/jobs')).json());
  return data[0].id;
}

async function newKey(stack: Stack, tenant: string): Promise<{ readonly id: string; readonly key: string }> {
  const body = { tenant, scopes: ['submit', 'read', 'cancel'] };
  return NewApiKeySchema.parse(await (await stack.ask('POST', '/v1/keys', body)).json());
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  await page.getByLabel('Steps').first().waitFor();
}

describe.skipIf(!chromiumPath)('a studio that is interrupted', () => {
  test('A person who signs in after a session that ended sees nothing of the person before', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    const [ada, bob] = [await newKey(stack, 'ada'), await newKey(stack, 'bob')];
    await page.goto(stack.url);
    await signIn(page, ada.key);
    await make(page, 'a secret red circle');
    await page.getByText('Next in line').waitFor();
    await stack.ask('DELETE', `/v1/keys/${ada.id}`);
    await page.getByText('Your session has ended').waitFor();
    await signIn(page, bob.key);
    expect(await page.locator('#prompt').inputValue()).toBe('');
    expect(await page.locator('.progress').count()).toBe(0);
    expect(await page.content()).not.toContain('secret');
  });

  test('A person who signs in after a session that ended does not get its comparison', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    const [ada, bob] = [await newKey(stack, 'ada'), await newKey(stack, 'bob')];
    await page.goto(stack.url);
    await signIn(page, ada.key);
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.locator('#compare-prompt').fill('a secret red circle');
    await expect.poll(() => page.url()).toContain('secret');
    await stack.ask('DELETE', `/v1/keys/${ada.id}`);
    await page.getByRole('button', { name: /^Make/ }).click();
    await page.getByText('Your session has ended').waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await signIn(page, bob.key);
    expect(await page.locator('#compare-prompt').inputValue()).toBe('');
    expect(page.url()).not.toContain('secret');
  });

  test('A job whose record is gone is given up: the page says so, asks no more, and makes the next', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const proxy = await tcpProxy(Number(new URL(stack.url).port));
    const { page } = await openStudio(world.browser);
    await page.clock.install();
    await page.goto(`http://127.0.0.1:${proxy.port}/`);
    await signIn(page, stack.key);
    await make(page);
    await page.getByText('Next in line').waitFor();
    const id = await newestJob(stack);
    await testRedis(world.redis.url).del(keysOf(stack.namespace).record(id as JobId));
    proxy.reset();
    await page.clock.runFor(5_000);
    await page.getByText('This job can no longer be followed').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.clock.runFor(20_000);
    expect(asked).toEqual([]);
    await page.getByRole('button', { name: 'Make', exact: true }).click();
    await page.getByText(/in line/).waitFor();
  });

  test('A job that is followed while the API is killed and started again ends on the page', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page } = await openStudio(world.browser);
    await enter(page, stack);
    await make(page);
    await page.getByText('Next in line').waitFor();
    stack.api.signal('SIGKILL');
    await stack.api.exited();
    await page.getByText('Connection lost').waitFor();
    await stack.restartApi();
    await page.getByText('Connection lost').waitFor({ state: 'detached' });
    await stack.worker();
    await finished(page);
    expect(await page.getByAltText(`Picture of: ${PROMPT}`).count()).toBe(1);
  });

  test.each([
    ['the window loses the focus', "dispatchEvent(new Event('blur'))"],
    [
      'the page is hidden',
      `Object.defineProperty(document, 'visibilityState', { value: 'hidden' });
       document.dispatchEvent(new Event('visibilitychange'))`,
    ],
  ])('The microphone is switched off and its recording is sent when %s', async (_, interrupt) => {
    const { page } = await recordingPage();
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
    await page.evaluate(interrupt);
    await page.getByText('Waiting for a worker').or(page.getByText('Next in line')).waitFor();
    expect(await page.locator('.talk').getAttribute('data-state')).toBe('idle');
  });

  test('A recording ends by itself after ten minutes', { tags: ['long'] }, async () => {
    const { page } = await recordingPage({ hasClock: true });
    await page.clock.fastForward('10:01');
    await expect.poll(() => page.locator('.talk').getAttribute('data-state')).toBe('idle');
  });

  test('While a recording is sent, no second one can be made and lost', { tags: ['long'] }, async () => {
    const { page, stack } = await recordingPage();
    let send = (): void => {};
    const isAllowed = new Promise<void>((resolve) => {
      send = resolve;
    });
    await page.route('**/v1/files', async (route) => {
      await isAllowed;
      await route.continue();
    });
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 600))');
    await page.mouse.up();
    const button = page.locator('.talk-button');
    await page.getByText('Sending').first().waitFor();
    expect(await button.isDisabled()).toBe(true);
    await page.keyboard.down('Space');
    expect(await page.locator('.talk').getAttribute('data-state')).toBe('idle');
    await page.keyboard.up('Space');
    send();
    await expect.poll(() => button.isDisabled()).toBe(false);
    expect(await newestJob(stack)).toMatch(/^job_/);
  });
});

/** The view that listens, with the button held and the microphone on. */
async function recordingPage({ hasClock = false } = {}): Promise<{
  readonly page: Page;
  readonly stack: Stack;
}> {
  const stack = await demoStack(world.redis);
  const { page } = await openStudio(world.browser);
  if (hasClock) await page.clock.install();
  await enter(page, stack);
  await page.getByRole('link', { name: 'Speak' }).click();
  await page.getByRole('button', { name: 'Hold to talk' }).hover();
  await page.mouse.down();
  await expect.poll(() => page.locator('.talk').getAttribute('data-state')).toBe('recording');
  return { page, stack };
}
