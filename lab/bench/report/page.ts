/** The report of the benches: one HTML file without any request to elsewhere. */
import { readFileSync } from 'node:fs';
import { changesOf } from '../changes.ts';
import type { Chart } from '../charts.ts';
import { isMet } from '../harness.ts';
import type { BenchResult } from '../results.ts';
import { calculatorSection } from './calculator-section.ts';
import { type Html, html, raw, scriptTag } from './html.ts';
import { draw } from './plots.ts';
import { CHARTS, type ChartSection, TABLES } from './sections.ts';
import { changesTable, idOf, tableSection } from './tables.ts';

const STYLE = readFileSync(new URL('./style.css', import.meta.url), 'utf8');
/** The button goes from the system's setting to its opposite, and back. */
const SCRIPT = `document.querySelector('#theme').addEventListener('click', () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme
    ? root.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = isDark ? 'light' : 'dark';
});`;

export function reportPage(results: readonly BenchResult[]): string {
  const titles = [
    ...TABLES.map(({ title }) => title),
    ...CHARTS.map(({ title }) => title),
    'How many cards',
    'Since the run before',
  ];
  const compared = results.flatMap(({ rows, previous }) =>
    rows.filter(({ name }) => previous?.rows.some((row) => row.name === name)),
  );
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lehr, measured</title><style>${raw(STYLE)}</style></head><body>
<header class="top"><h1>Lehr, measured</h1><p>${introduction(results)}</p>${tiles(results, compared.length)}</header>
<nav><div>${titles.map((title) => html`<a href="#${idOf(title)}">${title}</a>`)}<button id="theme" type="button">Light or dark</button></div></nav>
<main>${TABLES.map((section) => tableSection(section, results))}${CHARTS.map((section) => chartSection(section, results))}
${calculatorSection()}
<h2 id="${idOf('Since the run before')}">Since the run before</h2><p>Each file of benches is compared with its run before. Listed is what differs by more than 3 % and by more than three standard errors of both medians; simulated figures are the same in every run, so any difference of them is one of the code.</p>
${changesTable(changesOf(results), compared.length)}
<footer>Made by npm run lab -- bench. A ratio is the median of interleaved rounds of one run, so that other load of the machine changes both sides.</footer></main>
${scriptTag(SCRIPT)}</body></html>
`;
  return page.html;
}

function introduction(results: readonly BenchResult[]): string {
  const machines = [...new Set(results.map(({ machine }) => machine))];
  const dates = [...new Set(results.map(({ date }) => date))].sort();
  const days =
    dates.length > 1 ? `between ${dates[0]} and ${dates.at(-1)}` : `on ${dates[0] ?? 'no day yet'}`;
  return `Measured ${days} on ${machines.join('; ') || 'no machine yet'}. Every table names the day and the load of its run. Where a device is simulated, it says so; no figure of a real card is in this report.`;
}

function tiles(results: readonly BenchResult[], compared: number): Html {
  const rows = results.flatMap((each) => each.rows);
  const withGoal = rows.filter(({ target }) => target !== undefined);
  const changes = changesOf(results);
  const count = (kind: string): number => changes.filter((each) => each.kind === kind).length;
  const all: [string | number, string][] = [
    [`${withGoal.filter(isMet).length} of ${withGoal.length}`, 'goals met'],
    [rows.length, `figures of ${results.length} bench files`],
    [count('worse'), `figures worse than the run before, of ${compared} compared`],
    [count('better'), 'figures better than the run before'],
  ];
  return html`<div class="tiles">${all.map(([number, text]) => html`<div class="tile"><strong>${number}</strong><span>${text}</span></div>`)}</div>`;
}

function chartSection({ part, title, about, benches }: ChartSection, results: readonly BenchResult[]): Html {
  const charts = results.flatMap((result) => result.charts).filter((chart) => chart.part === part);
  const missing = benches.filter((bench) => !results.some((each) => each.bench === bench));
  const without =
    missing.length > 0
      ? html`<p class="empty">No data yet of: ${missing.join(', ')}. <code>npm run lab -- bench ${missing.join(' ')}</code> measures them.</p>`
      : html``;
  return html`<h2 id="${idOf(title)}">${title}</h2><p>${about}</p><div class="cards">${charts.map(card)}</div>${without}`;
}

function card(chart: Chart): Html {
  const { svg, legend } = draw(chart);
  const entries = legend.map(
    ({ name, colour }) => html`<span><i style="background:${colour}"></i>${name}</span>`,
  );
  const tag = chart.device ? html` <span class="tag">${chart.device}</span>` : html``;
  return html`<section class="card"><h3>${chart.title}${tag}</h3><p>${chart.about}</p><div class="legend">${entries}</div>${raw(svg)}</section>`;
}
