/**
 * The studio in Debian's Chromium, over API and worker on this machine: how long its first load takes, and how evenly the belt moves with
 * 200 samples. Chromium draws without a graphics card here, so the frames are those of the CPU.
 */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { answerWithFullBelt, SAMPLES } from '../../test/studio/sample-answers.ts';
import { chromiumPath } from '../../test/support/chromium.ts';
import type { SampledFigure } from './harness.ts';
import { startWholeLehr } from './whole-lehr.ts';

const LOADS = 15;
const BELT_SECONDS = 20;
const VIEWPORT = { width: 1280, height: 840 };

/** Notes when the form of Make can be used: the settings need the answers of the API. Milliseconds since the navigation began. */
const NOTE_READY = `new MutationObserver((_, observer) => {
  if (!document.querySelector('#setting-steps')) return;
  window.readyAt = performance.now();
  observer.disconnect();
}).observe(document, { subtree: true, childList: true });`;

/** The pauses between the frames of some seconds, in ms. */
const FRAMES = `new Promise((resolve) => {
  const pauses = [];
  const began = performance.now();
  let last = began;
  const frame = (now) => {
    pauses.push(now - last);
    last = now;
    if (now - began < ${BELT_SECONDS * 1000}) requestAnimationFrame(frame);
    else resolve(pauses.slice(1));
  };
  requestAnimationFrame((now) => { last = now; requestAnimationFrame(frame); });
})`;

interface Studio {
  /** A page of a context that is signed in and has loaded nothing yet. */
  newPage(): Promise<{ readonly page: Page; readonly context: BrowserContext }>;
  readonly url: string;
  close(): Promise<void>;
}

async function openStudio(): Promise<Studio> {
  const lehr = await startWholeLehr({ LEHR_DEVICE: 'cpu' });
  let browser: Browser | undefined;
  const close = async (): Promise<void> => {
    await browser?.close();
    await lehr.close();
  };
  try {
    if (chromiumPath === undefined) throw new Error('needs Chromium: apt-get install chromium');
    const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];
    const chrome = await chromium.launch({ executablePath: chromiumPath, args });
    browser = chrome;
    const made = await fetch(`${lehr.url}/studio/links`, {
      method: 'POST',
      headers: { authorization: `Bearer ${lehr.key}` },
    });
    const link = (await made.json()) as { url: string };
    const first = await chrome.newContext();
    const page = await first.newPage();
    await page.goto(link.url);
    await page.locator('#setting-steps').waitFor();
    // Only the cookie: a context begins with an empty cache.
    const storageState = await first.storageState();
    await first.close();
    return {
      newPage: async () => {
        const context = await chrome.newContext({ storageState, viewport: VIEWPORT });
        return { context, page: await context.newPage() };
      },
      url: lehr.url,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function firstLoads({ newPage, url }: Studio): Promise<number[]> {
  const ms: number[] = [];
  for (let i = 0; i < LOADS; i += 1) {
    const { page, context } = await newPage();
    await page.addInitScript(NOTE_READY);
    await page.goto(url);
    await page.locator('#setting-steps').waitFor();
    ms.push((await page.evaluate('window.readyAt')) as number);
    await context.close();
  }
  return ms;
}

async function onBelt<Seen>({ newPage, url }: Studio, look: (page: Page) => Promise<Seen>): Promise<Seen> {
  const { page, context } = await newPage();
  await answerWithFullBelt(page);
  await page.goto(`${url}/studio/belt`);
  await page
    .locator('.belt-tile')
    .nth(SAMPLES - 1)
    .waitFor({ state: 'attached' });
  const seen = await look(page);
  await context.close();
  return seen;
}

/** CPU time of the main thread of the page in each second, as a share of it. */
async function workOf(page: Page): Promise<number[]> {
  const session = await page.context().newCDPSession(page);
  // The CPU time of the thread, so that other load of the machine counts little.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const read = async (): Promise<{ at: number; work: number }> => {
    const { metrics } = await session.send('Performance.getMetrics');
    const value = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? 0;
    return { at: value('Timestamp'), work: value('TaskDuration') };
  };
  const shares: number[] = [];
  let before = await read();
  for (let second = 0; second < BELT_SECONDS; second += 1) {
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1000))');
    const now = await read();
    shares.push((now.work - before.work) / (now.at - before.at));
    before = now;
  }
  return shares;
}

const figure = (
  facts: Omit<SampledFigure, 'kind' | 'open'>,
  samples: (studio: Studio) => Promise<number[]>,
): SampledFigure => ({
  kind: 'sampled',
  ...facts,
  open: async () => {
    const studio = await openStudio();
    return { samples: () => samples(studio), close: () => studio.close() };
  },
});

const framesOf = (page: Page): Promise<number[]> => page.evaluate(FRAMES) as Promise<number[]>;

export const figures: readonly SampledFigure[] = [
  figure(
    {
      name: 'first load of the studio until its form can be used, median',
      unit: 'ms',
      target: { atMost: 1000 },
      percentile: 50,
    },
    firstLoads,
  ),
  figure(
    {
      name: `pause between two frames of the belt, ${SAMPLES} samples, median`,
      unit: 'ms',
      // 60 frames a second.
      target: { atMost: 16.7 },
      percentile: 50,
    },
    (studio) => onBelt(studio, framesOf),
  ),
  figure(
    {
      name: `the same, 95th percentile`,
      unit: 'ms',
      // No frame of twenty comes later than the next one was due.
      target: { atMost: 33.4 },
      percentile: 95,
    },
    (studio) => onBelt(studio, framesOf),
  ),
  figure(
    {
      name: `CPU time of the main thread of this belt, as a share of a second, median`,
      unit: '',
      percentile: 50,
    },
    (studio) => onBelt(studio, workOf),
  ),
];
