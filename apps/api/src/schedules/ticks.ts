/** The times of a schedule. A time is a function of the schedule and of the one before, so all processes agree on it. */
import { CronExpressionParser } from 'cron-parser';

export type Timing =
  | { readonly cron: string; readonly timezone: string }
  /** Counted from `since`, ms. */
  | { readonly everyMs: number; readonly since: number };

const SECOND_MS = 1000;
const CRON_FIELDS = 5;
/** cron-parser reads it as a random time. */
const RANDOM = /(?:^|[\s,])H/;

/** The first time after `after`, ms. Throws an Error for an expression or a zone that is not valid, or that never comes. */
export function nextTick(timing: Timing, after: number): number {
  if ('everyMs' in timing) {
    const { everyMs, since } = timing;
    return since + Math.max(1, Math.floor((after - since) / everyMs) + 1) * everyMs;
  }
  return parse(timing, after).next().getTime();
}

export function nextTicks(timing: Timing, after: number, count: number): number[] {
  const ticks: number[] = [];
  for (let at = after; ticks.length < count; ticks.push(at)) at = nextTick(timing, at);
  return ticks;
}

/** The newest `count` times from `first`, which is one, to `now`; oldest first. Does not look at all those between. */
export function dueTicks(timing: Timing, first: number, now: number, count: number): number[] {
  let at = first;
  if ('everyMs' in timing) {
    const steps = Math.floor((now - first) / timing.everyMs);
    at = first + Math.max(0, steps - count + 1) * timing.everyMs;
  } else {
    // Only to begin near the end: going back, an hour that comes twice in autumn has its times twice.
    const before = parse(timing, (Math.floor(now / SECOND_MS) + 1) * SECOND_MS);
    let early = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 2 * count + 2 && early > first; i += 1) early = before.prev().getTime();
    if (early > first) at = nextTick(timing, early);
  }
  const due: number[] = [];
  for (; at <= now; at = nextTick(timing, at)) due.push(at);
  return due.slice(-count);
}

function parse({ cron, timezone }: Extract<Timing, { cron: string }>, after: number) {
  if (cron.trim().split(/\s+/).length !== CRON_FIELDS || RANDOM.test(cron))
    throw new Error('must have five fields: minute, hour, day of the month, month, day of the week');
  return CronExpressionParser.parse(cron, { currentDate: new Date(after), tz: timezone });
}
