/** The comparison as a picture: one panel for each curve and start, worker seconds to the right and the 95th percentile upwards. */
import type { Comparison, Row } from './compare.ts';

const [PANEL_W, PANEL_H] = [400, 220];
const [LEFT, TOP, RIGHT, BOTTOM] = [58, 34, 16, 40];
const COLUMNS = 2;
const HEAD = 34;

const KINDS: Readonly<Record<Row['kind'], string>> = {
  lehr: 'Lehr',
  keda: 'KEDA, window of 300 s',
  'keda-60': 'KEDA, window of 60 s',
  static: 'a number that never changes',
};

/** Legible on white and on black: the colours have the same contrast with both, and texts follow the page. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #444; }
  .title { font-weight: 600; }
  .grid { stroke: #8884; stroke-width: 1; }
  .lehr { stroke: #d9480f; fill: #d9480f; }
  .keda { stroke: #1c7ed6; fill: #1c7ed6; }
  .keda-60 { stroke: #7048e8; fill: #7048e8; }
  .static { stroke: #868e96; fill: #868e96; }
  path.lehr, path.keda, path.keda-60, path.static { fill: none; stroke-width: 1.5; }
  path.keda-60 { stroke-dasharray: 5 3; }
  path.static { stroke-dasharray: 2 3; }
  @media (prefers-color-scheme: dark) { text { fill: #ccc; } }
`;

export function plot(results: readonly Comparison[]): string {
  const rows = Math.ceil(results.length / COLUMNS);
  const [width, height] = [COLUMNS * PANEL_W, HEAD + rows * PANEL_H];
  const panels = results.map((each, i) => {
    const [x, y] = [(i % COLUMNS) * PANEL_W, HEAD + Math.floor(i / COLUMNS) * PANEL_H];
    return `<g transform="translate(${x} ${y})">${panel(each)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>Worker seconds and waits of four ways to scale, on simulated loads</title>
<style>${STYLE}</style>
${legend()}
${panels.join('\n')}
</svg>
`;
}

function legend(): string {
  const entries = Object.entries(KINDS).map(([kind, text], i) => {
    const x = 12 + [0, 70, 230, 385][i];
    return `<circle class="${kind}" cx="${x}" cy="16" r="4"/><text x="${x + 8}" y="20">${text}</text>`;
  });
  return entries.join('');
}

function panel({ curve, startS, rows }: Comparison): string {
  const dynamic = rows.filter(({ kind }) => kind !== 'static');
  const maxCost = Math.max(...dynamic.map(({ cost }) => cost)) * 1.05;
  const maxWait = Math.max(...dynamic.map(({ p95S }) => p95S)) * 1.1;
  const shown = rows.filter(({ cost, p95S }) => cost <= maxCost && p95S <= maxWait);
  const [w, h] = [PANEL_W - LEFT - RIGHT, PANEL_H - TOP - BOTTOM];
  // Square roots: short waits and low costs are where the ways differ.
  const x = (cost: number): number => LEFT + w * Math.sqrt(Math.max(0, cost - 1) / (maxCost - 1));
  const y = (wait: number): number => TOP + h * (1 - Math.sqrt(wait / maxWait));
  const lines = (Object.keys(KINDS) as Row['kind'][]).map((kind) => {
    const points = shown.filter((each) => each.kind === kind).sort((a, b) => a.setting - b.setting);
    const path = points.map(({ cost, p95S }) => `${round(x(cost))} ${round(y(p95S))}`).join(' L ');
    const dots = points.map(({ cost, p95S, setting }) => {
      const radius = kind === 'lehr' ? (setting === 15 ? 5 : 3) : 2;
      return `<circle class="${kind}" cx="${round(x(cost))}" cy="${round(y(p95S))}" r="${radius}"/>`;
    });
    return points.length === 0 ? '' : `<path class="${kind}" d="M ${path}"/>${dots.join('')}`;
  });
  const title = `<text class="title" x="${LEFT}" y="20">${curve.name}, starts of ${startS} s</text>`;
  return [title, ...costTicks(maxCost, x, h), ...waitTicks(maxWait, y, w), ...lines].join('');
}

function costTicks(max: number, x: (cost: number) => number, h: number): string[] {
  const ticks = [1, 1.1, 1.5, 2, 3, 5, 10, 20, 50, 100].filter((tick) => tick <= max);
  return [
    ...ticks.map(
      (tick) =>
        `<line class="grid" x1="${round(x(tick))}" y1="${TOP}" x2="${round(x(tick))}" y2="${TOP + h}"/>` +
        `<text text-anchor="middle" x="${round(x(tick))}" y="${TOP + h + 16}">${tick}</text>`,
    ),
    `<text text-anchor="end" x="${PANEL_W - RIGHT}" y="${TOP + h + 32}">worker seconds for each second of work</text>`,
  ];
}

function waitTicks(max: number, y: (wait: number) => number, w: number): string[] {
  const ticks = [0, 1, 5, 20, 60, 120].filter((tick) => tick <= max);
  return [
    ...ticks.map(
      (tick) =>
        `<line class="grid" x1="${LEFT}" y1="${round(y(tick))}" x2="${LEFT + w}" y2="${round(y(tick))}"/>` +
        `<text text-anchor="end" x="${LEFT - 6}" y="${round(y(tick) + 4)}">${tick} s</text>`,
    ),
  ];
}

const round = (value: number): number => Math.round(value * 10) / 10;
