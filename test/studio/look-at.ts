/** Looks at a view as it is: what axe finds, whether it fits a phone, and its screenshot. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { saveScreenshot } from './screenshots.ts';

export const DESK = { width: 1280, height: 840 };
export const PHONE = { width: 390, height: 844 };
/** Phones, tablets and windows, with both sides of each width at which the layout changes. */
const WIDTHS = [360, 704, 705, 768, 950, 1025, 1280];
const SERIOUS = ['serious', 'critical'];

let axe: Promise<string> | undefined;

/** The serious faults of the page as it is, each with the place of its first element. */
export async function faultsOf(page: Page): Promise<string[]> {
  axe ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Inside a function of the page: its content security policy allows no other script.
  await page.evaluate(`(() => { const module = undefined, define = undefined; ${await axe} })()`);
  const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
  return violations
    .filter(({ impact }) => SERIOUS.includes(impact ?? ''))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
}

/** What a view looks like, for the docs: its screenshot, and its screenshot on a phone. */
export interface Shots {
  readonly desk?: string | undefined;
  readonly phone?: string | undefined;
}

/** With its screenshot; `phone`: the name of a second one, on a phone. */
export const lookAt = (page: Page, name: string, phone?: string): Promise<void> =>
  checkView(page, name, { desk: name, phone });

export async function checkView(page: Page, name: string, { desk, phone }: Shots = {}): Promise<void> {
  // Pictures and texts fade in; axe would measure the contrast half way.
  await page.waitForFunction(
    'document.getAnimations().every((each) => each.effect.getTiming().iterations === Infinity)',
  );
  expect(await faultsOf(page), name).toEqual([]);
  if (desk !== undefined) await saveScreenshot(page, desk);
  await checkWidths(page, name);
  await page.setViewportSize(PHONE);
  if (phone !== undefined) await saveScreenshot(page, phone);
  await page.setViewportSize(DESK);
}

/** At every width the view fits the window, and no button or link of a bar is broken inside a word. */
async function checkWidths(page: Page, name: string): Promise<void> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: PHONE.height });
    const faults = (await page.evaluate(FAULTS_OF_LAYOUT)) as readonly string[];
    found.push(...faults.map((fault) => `${width} px: ${fault}`));
  }
  expect(found, name).toEqual([]);
}

/** Runs in the page. */
const FAULTS_OF_LAYOUT = `(() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const isBroken = (word) => {
    const range = document.createRange();
    range.setStart(word.node, word.index);
    range.setEnd(word.node, word.index + word.text.length);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
  };
  const wordsOf = (element) => {
    const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const words = [];
    for (let node = nodes.nextNode(); node; node = nodes.nextNode())
      for (const { 0: text, index } of node.data.matchAll(/\\S+/g)) words.push({ node, text, index });
    return words;
  };
  const labels = [...document.querySelectorAll('.button, .view-link, .admin-tab, .status')].filter((each) => each.checkVisibility());
  const broken = labels.flatMap(wordsOf).filter(isBroken).map(({ text }) => 'broken inside: ' + text);
  return [...(wide > 0 ? [wide + ' px too wide'] : []), ...broken];
})()`;
