/** A timeline as a picture: four panels over one time axis, with the marks of the run through all of them. */
import type { Mark, Sample, Timeline } from './timeline.ts';

const WIDTH = 840;
const [LEFT, RIGHT, TOP] = [52, 132, 78];
const [PANEL_H, GAP, BOTTOM] = [92, 30, 34];
const PLOT_W = WIDTH - LEFT - RIGHT;

interface Series {
  readonly text: string;
  readonly style: string;
  readonly value: (sample: Sample) => number;
}

interface Panel {
  readonly title: string;
  readonly series: readonly Series[];
}

const PANELS: readonly Panel[] = [
  {
    title: 'Jobs',
    series: [
      { text: 'waiting', style: 'orange area', value: ({ waitingJobs }) => waitingJobs },
      { text: 'running', style: 'blue', value: ({ runningJobs }) => runningJobs },
    ],
  },
  {
    title: 'Workers that Lehr asks for, and pods',
    series: [
      { text: 'desired', style: 'orange area', value: ({ desired }) => desired },
      { text: 'pods', style: 'blue', value: ({ pods }) => pods },
      { text: 'ready pods', style: 'green dashed', value: ({ readyPods }) => readyPods },
    ],
  },
  {
    title: 'Worker processes',
    series: [
      { text: 'processes', style: 'violet area', value: ({ processes }) => processes },
      { text: 'serving', style: 'green', value: ({ serving }) => serving },
    ],
  },
  {
    title: 'g4dn nodes',
    series: [{ text: 'nodes', style: 'blue area', value: ({ nodes }) => nodes }],
  },
];

/** Legible on white and on black: the colours contrast with both, and texts follow the page. */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #444; }
  .title { font-weight: 600; }
  .mark-text { font-size: 11px; }
  .grid { stroke: #8884; stroke-width: 1; }
  .mark { stroke: #888a; stroke-width: 1; stroke-dasharray: 3 3; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .fill { stroke: none; fill-opacity: 0.16; }
  .dashed { stroke-dasharray: 4 3; }
  .orange { stroke: #e8590c; fill: #e8590c; }
  .blue { stroke: #1c7ed6; fill: #1c7ed6; }
  .green { stroke: #2f9e44; fill: #2f9e44; }
  .violet { stroke: #7950f2; fill: #7950f2; }
  path.line { fill: none; }
  path.fill { stroke: none; }
  @media (prefers-color-scheme: dark) { text { fill: #ccc; } }
`;

export function timelinePlot(timeline: Timeline): string {
  const { samples, marks } = timeline;
  const seconds = Math.max(1, ...samples.map(({ t }) => t), ...marks.map(({ t }) => t));
  const height = TOP + PANELS.length * (PANEL_H + GAP) - GAP + BOTTOM;
  const x = (t: number): number => round(LEFT + (PLOT_W * t) / seconds);
  const panels = PANELS.map((each, i) => panel(each, samples, { x, y: TOP + i * (PANEL_H + GAP) }));
  const foot = height - BOTTOM;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>Jobs, workers, pods, processes and nodes during a load wave</title>
<style>${STYLE}</style>
${markLines(marks, x, foot)}
${panels.join('\n')}
${timeTicks(seconds, x, foot)}
</svg>
`;
}

interface Place {
  readonly x: (t: number) => number;
  /** Its upper edge. */
  readonly y: number;
}

function panel({ title, series }: Panel, samples: readonly Sample[], { x, y }: Place): string {
  const most = Math.max(1, ...series.flatMap(({ value }) => samples.map(value)));
  const up = (value: number): number => round(y + PANEL_H * (1 - value / most));
  const floor = y + PANEL_H;
  const ticks = [0, most].map(
    (tick) =>
      `<line class="grid" x1="${LEFT}" y1="${up(tick)}" x2="${LEFT + PLOT_W}" y2="${up(tick)}"/>` +
      `<text text-anchor="end" x="${LEFT - 8}" y="${up(tick) + 4}">${tick}</text>`,
  );
  const lines = series.map(({ text, style, value }, i) => {
    const path = steps(samples, x, (sample) => up(value(sample)));
    const [colour] = style.split(' ');
    const last = samples.at(-1);
    const first = samples[0];
    const area =
      style.includes('area') && first && last
        ? `<path class="fill ${colour}" d="${path} V ${floor} H ${x(first.t)} Z"/>`
        : '';
    const legend = WIDTH - RIGHT + 14;
    const row = y + 12 + i * 20;
    return (
      `${area}<path class="line ${style.replace(' area', '')}" d="${path}"/>` +
      `<line class="line ${style.replace(' area', '')}" x1="${legend}" y1="${row}" x2="${legend + 18}" y2="${row}"/>` +
      `<text x="${legend + 26}" y="${row + 4}">${text}</text>`
    );
  });
  return [`<text class="title" x="${LEFT}" y="${y - 8}">${title}</text>`, ...ticks, ...lines].join('');
}

/** A value holds until the next sample. */
function steps(samples: readonly Sample[], x: (t: number) => number, y: (sample: Sample) => number): string {
  let last: number | undefined;
  const parts = samples.flatMap((sample, i) => {
    const to = y(sample);
    const isEnd = i === samples.length - 1;
    if (last === undefined) {
      last = to;
      return [`M ${x(sample.t)} ${to}`];
    }
    if (to === last) return isEnd ? [`H ${x(sample.t)}`] : [];
    last = to;
    return [`H ${x(sample.t)} V ${to}`];
  });
  return parts.join(' ');
}

/** Marks close to each other have their texts in different rows. */
function markLines(marks: readonly Mark[], x: (t: number) => number, foot: number): string {
  const ends: number[] = [];
  return marks
    .map(({ t, text }) => {
      const at = x(t);
      const isLate = at > LEFT + PLOT_W * 0.85;
      const width = text.length * 6 + 8;
      const [from, to] = isLate ? [at - width, at] : [at, at + width];
      const free = ends.findIndex((end) => end <= from);
      const row = free < 0 ? ends.length : free;
      ends[row] = to;
      const y = 16 + row * 14;
      return (
        `<line class="mark" x1="${at}" y1="${y + 3}" x2="${at}" y2="${foot}"/>` +
        `<text class="mark-text" text-anchor="${isLate ? 'end' : 'start'}" x="${at + (isLate ? -3 : 3)}" y="${y}">${text}</text>`
      );
    })
    .join('');
}

function timeTicks(seconds: number, x: (t: number) => number, foot: number): string {
  const every = [10, 30, 60, 120, 300].find((each) => seconds / each <= 12) ?? 600;
  const ticks = Array.from({ length: Math.floor(seconds / every) + 1 }, (_, i) => i * every);
  return ticks
    .map((t) => `<text text-anchor="middle" x="${x(t)}" y="${foot + 18}">${t === 0 ? '0 s' : t}</text>`)
    .join('');
}

const round = (value: number): number => Math.round(value * 10) / 10;
