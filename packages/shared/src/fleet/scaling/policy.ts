/** How a pool of workers is scaled: its limits, its target waits, its schedule. The schema of one entry of pools.yaml. */
import { z } from 'zod';
import { SLUG, TASKS } from '../../contracts/group.ts';
import { PRIORITY_CLASSES } from '../../contracts/job.ts';

const seconds = z.number().nonnegative();
const count = z.int().nonnegative().max(10_000);
const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const timeOfDay = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'must be a time such as 08:30, at most 24:00');

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const ScheduleSchema = z
  .strictObject({
    days: z
      .array(z.enum(DAYS))
      .min(1)
      .default([...DAYS]),
    from: timeOfDay.default('00:00'),
    /** Not included. Earlier than `from`: the period goes over midnight, and belongs to the day on which it begins. */
    to: timeOfDay.default('24:00'),
    time_zone: z.string().refine(isTimeZone, 'must be a time zone such as Europe/Berlin').default('UTC'),
    min: count.optional(),
    max: count.optional(),
  })
  .refine(({ from, to }) => from !== to, 'from and to must differ')
  .refine(({ min, max }) => min !== undefined || max !== undefined, 'must have a min or a max')
  .refine(({ min, max }) => min === undefined || max === undefined || min <= max, 'min is above max');

const BudgetSchema = z.strictObject({
  /** What one worker costs in an hour, in any currency. */
  worker_hour: z.number().positive(),
  /** What the pool may cost in an hour, in the same currency. */
  per_hour: z.number().nonnegative(),
});

/** Interactive jobs are waited for by a person, bulk jobs by none. */
const TARGET_WAIT_S = { interactive: 5, standard: 15, bulk: 300 };

export const ScalePolicySchema = z
  .strictObject({
    min: count.default(0),
    max: count.default(4),
    /** How long a job of each class may wait before more workers are wanted. */
    target_wait_s: z
      .strictObject({
        interactive: seconds.min(0.1, 'must be at least 0.1'),
        standard: seconds.min(0.1, 'must be at least 0.1'),
        bulk: seconds.min(0.1, 'must be at least 0.1'),
      })
      .partial()
      .prefault({})
      .transform((targets) => ({ ...TARGET_WAIT_S, ...targets }))
      .refine(
        ({ interactive, standard, bulk }) => interactive <= standard && standard <= bulk,
        `a more urgent class must not have a longer target: ${PRIORITY_CLASSES.join(' <= ')}`,
      ),
    /** How long a worker takes from the decision until it serves, until a start has been measured. */
    start_s: seconds.default(30),
    /** What comes before the start of its process and cannot be measured by it: a new node, the pull of an image. */
    provision_s: seconds.default(0),
    /** For how long less must be wanted before workers go. */
    shrink_after_s: seconds.default(60),
    /** For how long a pool must have no work before its last worker goes. */
    zero_after_s: seconds.default(120),
    budget: BudgetSchema.optional(),
    /** The first period that contains the moment replaces min and max. */
    schedule: z.array(ScheduleSchema).default([]),
  })
  .refine(({ min, max }) => min <= max, { error: 'min is above max', path: ['min'] });
export type ScalePolicy = z.output<typeof ScalePolicySchema>;

export const PoolSchema = z
  .strictObject({
    name: z.string().regex(SLUG, 'must match [a-z0-9][a-z0-9._-]{0,63}'),
    /** Which jobs the workers of the pool run: models (`name`, or `name@version`), or tasks; neither: all. */
    models: z.array(z.string().min(1)).min(1).optional(),
    tasks: z.array(z.enum(TASKS)).min(1).optional(),
    ...ScalePolicySchema.shape,
  })
  .refine(({ min, max }) => min <= max, { error: 'min is above max', path: ['min'] })
  .refine(({ models, tasks }) => !(models && tasks), 'models and tasks cannot be used together')
  .transform(({ name, models, tasks, ...policy }) => ({ name, models, tasks, policy }));

/** A set of workers that is scaled by one policy. */
export type Pool = z.output<typeof PoolSchema>;

type Period = ScalePolicy['schedule'][number];

export interface WorkerLimits {
  readonly min: number;
  readonly max: number;
  /** What set `min` and `max`, where it was not the policy's own. */
  readonly minBy: 'min' | 'schedule';
  readonly maxBy: 'max' | 'schedule' | 'budget';
}

/** The limits at a moment, in ms since the epoch. The budget counts more than the schedule, and both more than `min`. */
export function limitsAt({ min, max, schedule, budget }: ScalePolicy, atMs: number): WorkerLimits {
  const period = schedule.find((each) => contains(each, atMs));
  const scheduledMax = period?.max ?? Math.max(max, period?.min ?? 0);
  const affordable = budget ? Math.floor(budget.per_hour / budget.worker_hour + 1e-9) : scheduledMax;
  const top = Math.min(scheduledMax, affordable);
  return {
    min: Math.min(period?.min ?? min, top),
    max: top,
    minBy: period?.min === undefined ? 'min' : 'schedule',
    maxBy: affordable < scheduledMax ? 'budget' : scheduledMax === max ? 'max' : 'schedule',
  };
}

function contains({ days, from, to, time_zone }: Period, atMs: number): boolean {
  const { day, time } = localTime(atMs, time_zone);
  if (from < to) return days.includes(day) && from <= time && time < to;
  const dayBefore = DAYS[(DAYS.indexOf(day) + DAYS.length - 1) % DAYS.length];
  return (days.includes(day) && time >= from) || (days.includes(dayBefore) && time < to);
}

/** By time zone: to make one takes much longer than to use it, and admissions ask for the limits. */
const FORMATS = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  FORMATS.set(timeZone, format);
  return format;
}

function localTime(atMs: number, timeZone: string): { day: (typeof DAYS)[number]; time: string } {
  const inParts = formatOf(timeZone).formatToParts(atMs);
  const parts = Object.fromEntries(inParts.map(({ type, value }) => [type, value]));
  return {
    day: parts.weekday.toLowerCase() as (typeof DAYS)[number],
    time: `${parts.hour}:${parts.minute}`,
  };
}
