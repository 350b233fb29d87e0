import { expect, test } from 'vitest';
import { firstTime, type Sample } from './timeline.ts';
import { timelinePlot } from './timeline-plot.ts';

const sample = (t: number, fields: Partial<Sample> = {}): Sample => ({
  t,
  waitingJobs: 0,
  runningJobs: 0,
  desired: 0,
  pods: 0,
  readyPods: 0,
  processes: 0,
  serving: 0,
  nodes: 0,
  ...fields,
});
const SAMPLES = [sample(0), sample(10, { waitingJobs: 8, pods: 2 }), sample(20, { pods: 2 }), sample(30)];

test('A value holds until it changes, and a panel reaches from zero to its largest value', () => {
  const svg = timelinePlot({ samples: SAMPLES, marks: [] });
  // From the floor of the first panel at 0 s to its top at 10 s, and back at 20 s.
  expect(svg).toContain('d="M 52 170 H 270.7 V 78 H 489.3 V 170 H 708"');
  expect(svg).toContain('>8</text>');
  expect(svg).toContain('<title>');
});

test('The texts of marks that are close to each other do not cover each other', () => {
  const marks = [
    { t: 5, text: 'first mark' },
    { t: 6, text: 'second mark' },
    { t: 25, text: 'third mark' },
  ];
  const svg = timelinePlot({ samples: SAMPLES, marks });
  const rows = marks.map(({ text }) => new RegExp(`y="(\\d+)">${text}<`).exec(svg)?.[1]);
  expect(rows).toEqual(['16', '30', '16']);
});

test('A record without samples is an empty picture, and the first time of what never was is unknown', () => {
  expect(timelinePlot({ samples: [], marks: [] })).toContain('</svg>');
  const timeline = { samples: SAMPLES, marks: [] };
  expect(firstTime(timeline, ({ pods }) => pods > 0)).toBe(10);
  expect(firstTime(timeline, ({ pods }) => pods === 0, 10)).toBe(30);
  expect(firstTime(timeline, ({ nodes }) => nodes > 0)).toBeUndefined();
});
