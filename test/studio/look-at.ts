/** Looks at a view as it is: what axe finds, whether it fits a phone, and its screenshot. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { saveScreenshot } from './screenshots.ts';

export const DESK = { width: 1280, height: 840 };
const PHONE = { width: 390, height: 844 };
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
  await page.setViewportSize(PHONE);
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  expect(overflow, `${name} on a phone`).toBeLessThanOrEqual(0);
  if (phone !== undefined) await saveScreenshot(page, phone);
  await page.setViewportSize(DESK);
}
