/** Values and times as people read them. */
import type { Chart } from '@lehr/client';
import { texts } from '../texts/index.ts';

type Unit = Chart['unit'];

const SHOWN_DIGITS = 3;
const MINUTE_S = 60;
const HOUR_S = 3_600;
const DAY_S = 86_400;
/** Short, so that it fits below an axis. */
const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** At most three digits that say something: 0.042, 4.2, 42, 4,200. */
const round = (value: number): string =>
  new Intl.NumberFormat('en', {
    maximumSignificantDigits: Math.abs(value) < 1_000 ? SHOWN_DIGITS : undefined,
    maximumFractionDigits: Math.abs(value) < 1_000 ? undefined : 0,
  }).format(value);

export function valueText(unit: Unit, value: number): string {
  switch (unit) {
    case 'seconds':
      return durationText(value);
    case 'per_minute':
      return texts.charts.perMinute(round(value));
    case 'ratio':
      return `${round(value * 100)} %`;
    default:
      return round(value);
  }
}

/** Beside the axis, where the unit of a chart needs no repetition. */
export const axisText = (unit: Unit, value: number): string =>
  unit === 'per_minute' ? round(value) : valueText(unit, value);

function durationText(seconds: number): string {
  if (seconds === 0) return '0 s';
  if (seconds < 1) return `${round(seconds * 1000)} ms`;
  if (seconds < 2 * MINUTE_S) return `${round(seconds)} s`;
  if (seconds < 2 * HOUR_S) return `${round(seconds / MINUTE_S)} min`;
  return `${round(seconds / HOUR_S)} h`;
}

/** A point in time, as exact as the distance between two points makes sense. */
export function timeText(at: number, stepS: number): string {
  const time = new Date(at * 1000);
  if (stepS >= HOUR_S) {
    return time.toLocaleString([], { weekday: 'short', ...CLOCK });
  }
  const seconds = stepS < MINUTE_S ? ({ second: '2-digit' } as const) : {};
  return time.toLocaleTimeString([], { ...CLOCK, ...seconds });
}

/** Below the axis: the day where a chart spans days. */
export function tickText(at: number, rangeS: number): string {
  const time = new Date(at * 1000);
  if (rangeS > DAY_S) return time.toLocaleDateString([], { weekday: 'short', day: 'numeric' });
  return time.toLocaleTimeString([], CLOCK);
}
