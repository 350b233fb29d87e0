/** The studio in a real browser, over API, worker and Redis as real processes with the demo models. */
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';

const ROOT = join(import.meta.dirname, '../..');
const SPOKEN = join(ROOT, 'test/golden/samples/speech/en_circle.wav');

export const PROMPT = 'a red circle on a blue background';

/** What all tests of a file share: a Redis, and a browser where Chromium is installed. Elsewhere the file skips its tests. */
export function studioWorld(): { readonly redis: TestRedis; readonly browser: Browser } {
  const world = {} as { redis: TestRedis; browser: Browser };
  beforeAll(async () => {
    world.redis = await startRedis();
    if (chromiumPath) world.browser = await launchStudioBrowser();
  });
  afterAll(async () => {
    await world.browser?.close();
    await world.redis.stop();
  });
  return world;
}

/** Chromium with a microphone that hears a recorded sentence. */
function launchStudioBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${SPOKEN}`,
    ],
  });
}

export function demoStack(redis: TestRedis, env: Record<string, string> = {}): Promise<Stack> {
  return startStack(redis, {
    LEHR_MODELS: join(ROOT, 'packages/demo-models/models/models.yaml'),
    ...env,
  });
}

export interface StudioPage {
  readonly page: Page;
  /** Console errors, uncaught exceptions and violations of the content security policy. */
  readonly complaints: string[];
}

/** A page in a new context, which is closed at the end of the test. */
export async function openStudio(
  browser: Browser,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<StudioPage> {
  const context = await browser.newContext({ permissions: ['microphone', 'clipboard-write'], ...options });
  onTestFinished(() => context.close());
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.exposeFunction('noteViolation', (what: string) => complaints.push(what));
  await page.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
    noteViolation('CSP: ' + event.violatedDirective + ' ' + event.blockedURI));`);
  return { page, complaints };
}

/** Opens the studio with a link that signs in. */
export async function enter(page: Page, stack: Stack): Promise<void> {
  const made = await stack.ask('POST', '/studio/links');
  const { url } = (await made.json()) as { url: string };
  await page.goto(url);
  await page.locator('#prompt').waitFor();
  await page.getByLabel('Steps').first().waitFor();
}

/** Writes the prompt and makes the picture with the keyboard. */
export async function make(page: Page, prompt = PROMPT): Promise<void> {
  await page.locator('#prompt').fill(prompt);
  await page.keyboard.press('Control+Enter');
}

export async function finished(page: Page): Promise<void> {
  await page.locator('.result').waitFor();
  await expect.poll(() => page.locator('.stage .picture[data-loaded="true"]').count()).toBeGreaterThan(0);
}
