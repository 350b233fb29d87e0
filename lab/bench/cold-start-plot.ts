/** Cold starts as a picture: one bar for each model and state, in stages from the start of the process to the first answer. */
import { PARTS, type Parts } from './cold-starts.ts';

export interface ColdBar {
  /** The model and its state. */
  readonly name: string;
  /** ms each. */
  readonly parts: Parts;
}

const WIDTH = 800;
const [LEFT, TOP, RIGHT, BOTTOM] = [280, 52, 24, 44];
const [ROW, BAR] = [30, 18];
/** Of the steps between two lines of the grid, in seconds, the first one with at most MOST_LINES lines. */
const STEPS_S = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100];
const MOST_LINES = 8;

/** Without `total`: its median is not the sum of those of the stages, so a bar may be a little longer or shorter. */
const STAGES = PARTS.filter((part) => part !== 'total');

/** Legible on white and on black, as in comparison.svg: texts follow the page. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #444; }
  .grid { stroke: #8884; stroke-width: 1; }
  .process { fill: #868e96; }
  .connect { fill: #15aabf; }
  .pull { fill: #1c7ed6; }
  .engine { fill: #7048e8; }
  .graphs { fill: #d9480f; }
  .warm-up { fill: #f08c00; }
  .first-answer { fill: #37b24d; }
  @media (prefers-color-scheme: dark) { text { fill: #ccc; } }
`;

export function coldStartPlot(bars: readonly ColdBar[]): string {
  const longestS = Math.max(...bars.map(({ parts }) => sumOf(parts))) / 1000;
  const stepS = STEPS_S.find((step) => longestS / step <= MOST_LINES) ?? longestS;
  const endS = Math.ceil(longestS / stepS) * stepS;
  const x = (ms: number): number => round(LEFT + ((WIDTH - LEFT - RIGHT) * ms) / (endS * 1000));
  const height = TOP + bars.length * ROW + BOTTOM;
  const rows = bars.map((bar, i) => row(bar, TOP + i * ROW, x));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>Cold starts of a worker by stage, for each model and state</title>
<style>${STYLE}</style>
${legend()}
${grid(endS, stepS, bars.length, x)}
${rows.join('\n')}
</svg>
`;
}

const sumOf = (parts: Parts): number => STAGES.reduce((sum, stage) => sum + parts[stage], 0);

function legend(): string {
  let x = 12;
  const entries = STAGES.map((stage) => {
    const entry = `<rect class="${stage}" x="${x}" y="12" width="12" height="12"/><text x="${x + 18}" y="22">${stage}</text>`;
    x += 44 + stage.length * 7;
    return entry;
  });
  return entries.join('');
}

function grid(endS: number, stepS: number, count: number, x: (ms: number) => number): string {
  const bottom = TOP + count * ROW;
  const lines = Array.from({ length: Math.round(endS / stepS) + 1 }, (_, i) => {
    const at = x(i * stepS * 1000);
    return (
      `<line class="grid" x1="${at}" y1="${TOP - 8}" x2="${at}" y2="${bottom}"/>` +
      `<text text-anchor="middle" x="${at}" y="${bottom + 16}">${round(i * stepS)}</text>`
    );
  });
  const label = `<text text-anchor="end" x="${WIDTH - RIGHT}" y="${bottom + 34}">seconds from the start of the process</text>`;
  return [...lines, label].join('');
}

function row({ name, parts }: ColdBar, y: number, x: (ms: number) => number): string {
  let before = 0;
  const pieces = STAGES.map((stage) => {
    const from = x(before);
    before += parts[stage];
    const title = `<title>${stage}: ${(parts[stage] / 1000).toFixed(2)} s</title>`;
    return `<rect class="${stage}" x="${from}" y="${y}" width="${round(x(before) - from)}" height="${BAR}">${title}</rect>`;
  });
  return `<text text-anchor="end" x="${LEFT - 10}" y="${y + 13}">${escaped(name)}</text>${pieces.join('')}`;
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const round = (value: number): number => Math.round(value * 100) / 100;
