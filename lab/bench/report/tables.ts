/** The tables of the report. */
import type { Change } from '../changes.ts';
import { isMet, type Row, three } from '../harness.ts';
import type { BenchResult } from '../results.ts';
import { type Html, html } from './html.ts';
import type { TableSection } from './sections.ts';

export function tableSection(
  { title, about, benches, isFolded }: TableSection,
  results: readonly BenchResult[],
): Html {
  const own = benches.flatMap((bench) => results.find((each) => each.bench === bench) ?? []);
  const missing = benches.filter((bench) => !own.some((each) => each.bench === bench));
  const without =
    missing.length > 0
      ? html`<p class="empty">No result yet of: ${missing.join(', ')}. <code>npm run lab -- bench ${missing.join(' ')}</code> measures them.</p>`
      : html``;
  return html`<h2 id="${idOf(title)}">${title}</h2><p>${about}</p>${isFolded ? folded(own) : rowsTable(own)}${without}`;
}

const folded = (results: readonly BenchResult[]): Html =>
  results.length > 0
    ? html`<details><summary>${results.reduce((sum, { rows }) => sum + rows.length, 0)} figures</summary>${rowsTable(results)}</details>`
    : html``;

export const idOf = (title: string): string => title.toLowerCase().replace(/[^a-z]+/g, '-');

const HEAD = ['Figure', 'Lehr', 'Baseline', 'Measured', 'Smallest to largest', 'Goal', '', 'Run'];

function rowsTable(results: readonly BenchResult[]): Html {
  if (results.length === 0) return html``;
  const lines = results.flatMap(({ rows, date, load }) =>
    rows.map((row) => rowLine(row, `${date}, load ${load.map((each) => each.toFixed(1)).join(' to ')}`)),
  );
  return html`<div class="scroll"><table><thead><tr>${HEAD.map((each) => html`<th>${each}</th>`)}</tr></thead><tbody>${lines}</tbody></table></div>`;
}

function rowLine(row: Row, run: string): Html {
  const { name, device, sides, unit, value, min, max } = row;
  const side = (number: number | undefined): string =>
    number === undefined ? '' : `${three(number)} ${unit}`;
  return html`<tr><td>${name}${device ? html` <span class="tag">${device}</span>` : html``}</td>
<td class="soft">${side(sides?.ours)}</td><td class="soft">${side(sides?.baseline)}</td>
<td class="figure">${sides ? three(value) : side(value)}</td><td class="soft">${three(min)} to ${three(max)}</td>
<td class="soft">${goalText(row)} ${verdict(row)}</td><td>${gauge(row)}</td><td class="soft">${run}</td></tr>`;
}

export const goalText = ({ target }: Pick<Row, 'target'>): string => {
  if (target === undefined) return '';
  return 'atLeast' in target ? `at least ${three(target.atLeast)}` : `at most ${three(target.atMost)}`;
};

function verdict(row: Row): Html {
  if (row.target === undefined) return html``;
  return isMet(row) ? html`<span class="tag good">met</span>` : html`<span class="tag bad">missed</span>`;
}

/** From 0 to twice the goal: the goal, the figure, and how far it went. */
function gauge(row: Row): Html {
  const { target, value, min, max } = row;
  if (target === undefined) return html``;
  const goal = 'atLeast' in target ? target.atLeast : target.atMost;
  const place = (number: number): string => Math.min(99, Math.max(1, (50 * number) / goal)).toFixed(1);
  const width = (Number(place(max)) - Number(place(min))).toFixed(1);
  return html`<div class="gauge ${isMet(row) ? 'met' : 'missed'}"><span class="span" style="left:${place(min)}%;width:${width}%"></span><span class="goal" style="left:50%"></span><span class="dot" style="left:${place(value)}%"></span></div>`;
}

export function changesTable(changes: readonly Change[], compared: number): Html {
  if (compared === 0) return html`<p class="empty">There is no earlier run to compare with.</p>`;
  if (changes.length === 0) {
    return html`<p class="empty">${compared} figures were compared with the run before, and none differs by more than the noise of both.</p>`;
  }
  const lines = changes.map(
    ({ bench, name, unit, before, after, kind }) =>
      html`<tr><td>${name}</td><td class="soft">${bench}</td><td class="soft">${three(before)} ${unit}</td><td class="figure">${three(after)} ${unit}</td><td><span class="tag ${KINDS[kind].mark}">${KINDS[kind].text}</span></td></tr>`,
  );
  const head = ['Figure', 'Bench', 'Before', 'Now', ''].map((each) => html`<th>${each}</th>`);
  return html`<div class="scroll"><table><thead><tr>${head}</tr></thead><tbody>${lines}</tbody></table></div>`;
}

const KINDS = {
  better: { mark: 'good', text: 'better' },
  worse: { mark: 'bad', text: 'worse' },
  other: { mark: '', text: 'changed' },
} as const;
