/** Charts of the metrics over time: a closed list, which the API reads from Prometheus. */
import { z } from 'zod';

export const CHART_NAMES = [
  'jobs',
  'start',
  'duration',
  'outcomes',
  'failures',
  'rows',
  'call',
  'workers',
  'redis',
  'tenants',
] as const;
export type ChartName = (typeof CHART_NAMES)[number];

export const CHART_UNITS = ['count', 'seconds', 'per_minute', 'ratio'] as const;
export type ChartUnit = (typeof CHART_UNITS)[number];

/** How far back a chart looks, in seconds, and the seconds between two of its points. */
export const CHART_RANGES = {
  '15m': { rangeS: 900, stepS: 10 },
  '1h': { rangeS: 3_600, stepS: 30 },
  '6h': { rangeS: 21_600, stepS: 180 },
  '24h': { rangeS: 86_400, stepS: 720 },
  '7d': { rangeS: 604_800, stepS: 3_600 },
} as const;
export type ChartRange = keyof typeof CHART_RANGES;
const RANGE_NAMES = Object.keys(CHART_RANGES) as ChartRange[];

export const ChartQuerySchema = z.object({
  range: z
    .enum(RANGE_NAMES, `must be one of ${RANGE_NAMES.join(', ')}`)
    .default('1h')
    .meta({ description: 'How far back.' }),
});

export const ChartSchema = z
  .object({
    name: z.enum(CHART_NAMES),
    unit: z.enum(CHART_UNITS),
    series: z
      .array(
        z.object({
          name: z
            .string()
            .meta({ description: 'What this line is, such as a state or a model.', example: 'queued' }),
          values: z
            .array(z.number().nullable())
            .meta({ description: 'One value for each point in time; null where there is none.' }),
        }),
      )
      .meta({ description: 'The lines with the largest last values, at most 10.' }),
    more_series: z.int().nonnegative().meta({ description: 'Lines that are left out.' }),
    problem: z
      .string()
      .nullable()
      .meta({ description: 'Why the chart could not be read; null when it was.' }),
  })
  .meta({ id: 'Chart' });
export type Chart = z.output<typeof ChartSchema>;

export const ChartListSchema = z
  .object({
    object: z.literal('charts'),
    source: z.enum(['prometheus']).nullable().meta({
      description:
        'Where the values come from; null when LEHR_PROMETHEUS_URL is not set, and `data` is then empty.',
    }),
    range: z.enum(RANGE_NAMES),
    from: z.iso.datetime().meta({ description: 'The time of the first value.' }),
    step_s: z.int().positive().meta({ description: 'Seconds between two values.' }),
    points: z.int().nonnegative().meta({ description: 'Values of each line.' }),
    data: z.array(ChartSchema),
  })
  .meta({ id: 'ChartList' });
export type ChartList = z.output<typeof ChartListSchema>;
