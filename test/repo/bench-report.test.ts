/** The report of the benches, what it says of runs that differ, and the pages that are made from results. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { SIMULATED_T4 } from '../../apps/worker/src/engine/runtime/simulated.ts';
import { planPictures, planSpeech } from '../../lab/bench/capacity/arithmetic.ts';
import { DEVICES } from '../../lab/bench/capacity/assumptions.ts';
import { capacityPage } from '../../lab/bench/capacity/page.ts';
import { simulateCards } from '../../lab/bench/capacity/simulated-fleet.ts';
import { changesOf, differs } from '../../lab/bench/changes.ts';
import { type Chart, distribution } from '../../lab/bench/charts.ts';
import type { Row } from '../../lab/bench/harness.ts';
import { reportPage } from '../../lab/bench/report/page.ts';
import { pageParts } from '../../lab/bench/report/pages.ts';
import { type BenchResult, readResults, saveResult } from '../../lab/bench/results.ts';
import { withPart } from '../../lab/results.ts';
import { chromiumPath, launchBrowser, openPage } from '../support/browser.ts';
import { readText } from './readme.ts';

const row = (value: number, options: Partial<Row> = {}): Row => ({
  name: 'claim of 8 jobs, p99',
  unit: 'ms',
  value,
  min: value * 0.9,
  max: value * 1.1,
  count: 5,
  rounds: [0.98, 0.99, 1, 1.01, 1.02].map((part) => part * value),
  target: { atMost: 2 },
  ...options,
});

const chart: Chart = {
  part: 'waits',
  kind: 'lines',
  title: 'Latency & more',
  about: 'Of <all> jobs.',
  x: { label: 'ms' },
  y: { label: '%' },
  series: [{ name: 'Lehr', role: 'lehr', points: distribution([1, 2, 3, 4]) }],
};

const result = (rows: readonly Row[], previous?: readonly Row[]): BenchResult => {
  const run = { date: '2026-11-23', machine: 'a machine', load: [1, 2], seconds: 3 } as const;
  return {
    ...run,
    bench: 'claim',
    rows,
    charts: [chart],
    ...(previous && { previous: { ...run, rows: previous } }),
  };
};

test('A figure that differs by more than the noise of both runs is reported, with whether it became better or worse', () => {
  expect(changesOf([result([row(2)], [row(1)])])).toMatchObject([{ before: 1, after: 2, kind: 'worse' }]);
  expect(changesOf([result([row(1)], [row(2)])])).toMatchObject([{ kind: 'better' }]);
  expect(changesOf([result([row(1.02)], [row(1)])])).toEqual([]);
  expect(changesOf([result([row(1)])])).toEqual([]);
});

test('The noisier the rounds, the larger must a difference be; of a figure of one round little is known', () => {
  const noisy = { rounds: [0.5, 0.7, 1, 1.4, 1.6] };
  expect(differs(row(1), row(1.2))).toBe(true);
  expect(differs(row(1, noisy), row(1.2, noisy))).toBe(false);
  const { rounds: _rounds, ...single } = row(1);
  expect(differs(single, { ...single, value: 1.3 })).toBe(false);
  expect(differs(single, { ...single, value: 3 })).toBe(true);
});

test('A simulated figure has no noise, so a small difference is reported', () => {
  const device = { device: 'simulated T4' };
  expect(differs(row(1, device), row(1.01, device))).toBe(true);
  expect(differs(row(1, device), row(1, device))).toBe(false);
});

test('A saved result keeps the run before it, and not those before that', async () => {
  const path = await mkdtemp(join(tmpdir(), 'lehr-results-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const folder = pathToFileURL(`${path}/`);
  for (const value of [1, 2, 3]) saveResult(result([row(value)]), folder);
  const [saved] = readResults(folder);
  expect(saved.rows[0].value).toBe(3);
  expect(saved.previous?.rows[0].value).toBe(2);
  expect(saved.previous).not.toHaveProperty('previous');
});

test('A part of a page is replaced between its two comments, and a page without it is an error', () => {
  const page = 'a\n<!-- bench speed: begin -->\nold\n<!-- bench speed: end -->\nz\n';
  expect(withPart(page, 'bench speed', 'new\n')).toBe(page.replace('old', 'new'));
  expect(() => withPart('a', 'speed', '')).toThrow('no part "speed"');
});

test('The tables of README and docs are those that the kept results make', () => {
  for (const part of pageParts(readResults())) {
    const text = readText(part.page);
    expect(withPart(text, part.name, part.text), `${part.page}, ${part.name}`).toBe(text);
  }
});

test('The page of capacity is the one that the kept results and the arithmetic make', () => {
  expect(readText('lab/capacity.md')).toBe(capacityPage(readResults()));
});

test('The simulated T4 of the pages is that of the worker', () => {
  const { floorMs, ...card } = DEVICES[0].card;
  expect(card).toEqual(SIMULATED_T4);
  expect(floorMs).toBe(0);
});

test('Cards are counted in whole ones, and cost money in the hours in which they run', () => {
  const card = { stepBaseMs: 0, stepPerRowMs: 50, floorMs: 0, pictureMs: 0, textMs: 0 };
  // 20 steps of 2 rows are 2 s: 1,800 pictures an hour at a load of 1.
  const work = { steps: 20, rowsPerPicture: 2, rowCap: 4, hoursPerDay: 10, load: 1, pricePerHour: 0.5 };
  expect(planPictures(card, { ...work, picturesPerDay: 18_001 })).toMatchObject({
    msPerPicture: 2000,
    picturesPerCardHour: 1800,
    cards: 2,
    dollarsPerMonth: 300,
  });
  const speech = { minutesPerMonth: 60_000, timesRealTime: 10, hoursPerDay: 10, days: 5, load: 0.5 };
  expect(planSpeech({ ...speech, pricePerHour: 2 })).toEqual({
    cardHours: 200,
    cards: 4,
    days: 5,
    dollars: 400,
  });
});

test('More cards behind one queue let a job wait less at the same load, and give as many pictures each', () => {
  const { card, rowCap } = DEVICES[0];
  const [one, ten] = [1, 10].map((cards) =>
    simulateCards({ card, rowCap, cards, load: 0.85, jobs: 200 * cards }),
  );
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, each) => sum + each, 0) / values.length;
  expect(one.slowdowns).toHaveLength(200);
  expect(Math.min(...one.slowdowns)).toBeGreaterThanOrEqual(0.99);
  expect(mean(ten.slowdowns)).toBeLessThan(mean(one.slowdowns));
});

test('Text of a result cannot become HTML of the report', () => {
  const page = reportPage([result([row(1, { name: '<img src=x>' })])]);
  expect(page).toContain('&lt;img src=x&gt;');
  expect(page).not.toContain('<img');
  expect(page).toContain('Of &lt;all&gt; jobs.');
});

test('A part of the report without results says which benches would fill it', () => {
  expect(reportPage([])).toContain('No result yet of: whole');
  expect(reportPage([])).toContain('There is no earlier run');
});

describe.skipIf(!chromiumPath)('In a browser', () => {
  let browser: Awaited<ReturnType<typeof launchBrowser>>;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  test('The report opens from a file without a request, in light and dark, and its calculator calculates', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lehr-report-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'report.html');
    await writeFile(file, reportPage([result([row(3)], [row(1)])]));
    const { page, complaints } = await openPage(browser, { colorScheme: 'dark' });
    const requests: string[] = [];
    page.on('request', (request) => void requests.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    const ground = (): Promise<string> =>
      page.evaluate('getComputedStyle(document.body).backgroundColor') as Promise<string>;
    const dark = await ground();
    await page.click('#theme');
    expect(await ground()).not.toBe(dark);
    expect(await page.locator('.card svg path, .card svg circle').count()).toBeGreaterThan(3);
    const cards = page.locator('#pictures-rows tr:first-child td:nth-child(3)');
    expect(await cards.textContent()).toBe('1');
    await page.fill('#pictures input[name="picturesPerDay"]', '1000000');
    expect(Number(await cards.textContent())).toBeGreaterThan(50);
    expect(requests).toEqual([pathToFileURL(file).href]);
    expect(complaints).toEqual([]);
  });
});
