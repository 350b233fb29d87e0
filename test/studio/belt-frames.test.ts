/** The belt with 200 samples: what a reading changes in the page, and what moves between two readings. */
import { describe, expect, test } from 'vitest';
import { chromiumPath } from '../support/browser.ts';
import { DESK } from './look-at.ts';
import { answerWithFullBelt, SAMPLES } from './sample-answers.ts';
import { demoStack, enter, openStudio, studioWorld } from './studio-world.ts';

const world = studioWorld();

/** Runs in the page. Counts what changes below the belts, until each tile has moved twice. */
const WATCH = `(async () => {
  const seen = { added: 0, removed: 0, attributes: new Set(), moves: 0, properties: new Set() };
  const frames = [];
  const observer = new MutationObserver((list) => {
    for (const { type, attributeName, addedNodes, removedNodes } of list) {
      if (type === 'childList') { seen.added += addedNodes.length; seen.removed += removedNodes.length; }
      if (type === 'attributes') { seen.attributes.add(attributeName); seen.moves += attributeName === 'style'; }
    }
  });
  for (const each of document.querySelectorAll('.lane-tiles')) {
    observer.observe(each, { subtree: true, childList: true, attributes: true });
  }
  let last = performance.now();
  while (seen.moves < 2 * ${SAMPLES}) {
    await new Promise((resolve) => requestAnimationFrame(resolve));
    for (const each of document.getAnimations()) if (each.transitionProperty) seen.properties.add(each.transitionProperty);
    frames.push(performance.now() - last);
    last = performance.now();
  }
  observer.disconnect();
  frames.sort((a, b) => a - b);
  const at = (share) => Math.round(frames[Math.floor(share * (frames.length - 1))] * 10) / 10;
  return { added: seen.added, removed: seen.removed, attributes: [...seen.attributes].sort(),
    properties: [...seen.properties], frames: { count: frames.length, p50: at(0.5), p95: at(0.95), p99: at(0.99) } };
})()`;

interface Seen {
  readonly added: number;
  readonly removed: number;
  readonly attributes: readonly string[];
  readonly properties: readonly string[];
  /** For a report; no test asserts times. */
  readonly frames: object;
}

describe.skipIf(!chromiumPath)('a belt with 200 samples', () => {
  test('A reading moves tiles by their style alone, and what moves between two readings is composited', {
    tags: ['long'],
  }, async () => {
    const stack = await demoStack(world.redis);
    const { page, complaints } = await openStudio(world.browser, { viewport: DESK });
    await enter(page, stack);
    await answerWithFullBelt(page);
    await page.goto(`${stack.url}/studio/belt`);
    await expect.poll(() => page.locator('.belt-tile').count()).toBe(SAMPLES);
    const seen = (await page.evaluate(WATCH)) as Seen;
    // biome-ignore lint/suspicious/noUndeclaredEnvVars: no task of turbo runs this
    if (process.env.STUDIO_FRAMES === 'print') process.stdout.write(`${JSON.stringify(seen.frames)}\n`);
    expect([seen.added, seen.removed]).toEqual([0, 0]);
    expect(seen.attributes.filter((name) => name !== 'style' && name !== 'title')).toEqual([]);
    expect(seen.properties.filter((name) => !['transform', 'translate', 'opacity'].includes(name))).toEqual(
      [],
    );
    expect(complaints).toEqual([]);
  });
});
