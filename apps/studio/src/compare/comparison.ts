/**
 * A comparison: one prompt and its settings, of which two vary along the axes. Pure. The address keeps it after the `#`, which
 * browsers send to no server, because the prompt is in it.
 */
import type { JobRequest } from '@lehr/client';

type PictureRequest = Extract<JobRequest, { type: 'text-to-image' }>;

export const AXES = ['steps', 'guidance', 'sampler', 'seed', 'version'] as const;
export type Axis = (typeof AXES)[number];

/** Settings are kept as they were written; the API checks them. */
export interface Comparison {
  readonly prompt: string;
  readonly model: string;
  readonly width: string;
  readonly height: string;
  readonly steps: string;
  readonly guidance: string;
  readonly sampler: string;
  readonly seed: string;
  /** Empty: by the shares of the versions. */
  readonly version: string;
  readonly x: Axis;
  readonly xs: string;
  readonly y: Axis;
  readonly ys: string;
}

export interface CellPlan {
  readonly x: string;
  readonly y: string;
  readonly request: PictureRequest;
}

/** The most pictures of one comparison. */
export const MAX_CELLS = 36;

/** What is missing or wrong; undefined for a comparison that can be made. */
export type Problem = 'prompt' | 'same-axis' | 'no-values' | 'not-numbers' | 'too-many';

export function valuesOf(text: string): string[] {
  return [...new Set(text.split(/[,;\s]+/).filter((value) => value !== ''))];
}

export function problemOf(comparison: Comparison): Problem | undefined {
  const { prompt, x, y, xs, ys } = comparison;
  const axes = [
    { axis: x, values: valuesOf(xs) },
    { axis: y, values: valuesOf(ys) },
  ];
  if (prompt.trim() === '') return 'prompt';
  if (x === y) return 'same-axis';
  if (axes.some(({ values }) => values.length === 0)) return 'no-values';
  if (axes.some(({ axis, values }) => isNumeric(axis) && !values.every(isNumber))) return 'not-numbers';
  return countCells(comparison) > MAX_CELLS ? 'too-many' : undefined;
}

export const countCells = ({ xs, ys }: Comparison): number => valuesOf(xs).length * valuesOf(ys).length;

export const isNumeric = (axis: Axis): boolean => axis !== 'sampler' && axis !== 'version';
const isNumber = (value: string): boolean => Number.isFinite(Number(value));

/** Row by row. */
export function cellsOf(comparison: Comparison): CellPlan[] {
  const { x, y, xs, ys } = comparison;
  return valuesOf(ys).flatMap((yValue) =>
    valuesOf(xs).map((xValue) => ({
      x: xValue,
      y: yValue,
      request: requestOf({ ...comparison, [x]: xValue, [y]: yValue }),
    })),
  );
}

function requestOf({ model, version, prompt, sampler, ...numbers }: Comparison): PictureRequest {
  const { width, height, steps, guidance, seed } = numbers;
  return {
    type: 'text-to-image',
    model: version === '' ? model : `${model}@${version}`,
    input: {
      prompt,
      // As Make has it from the beginning.
      prompt_syntax: 'weighted',
      width: Number(width),
      height: Number(height),
      steps: Number(steps),
      guidance: Number(guidance),
      sampler,
      seed: Number(seed),
      n: 1,
    },
  } as PictureRequest;
}

export const toFragment = (comparison: Comparison): string =>
  new URLSearchParams({ ...comparison }).toString();

/** The fields that the fragment has; others are left out. */
export function fromFragment(fragment: string): Partial<Comparison> {
  const fields = Object.fromEntries(new URLSearchParams(fragment));
  const known: Record<string, string> = {};
  for (const name of FIELDS) if (fields[name] !== undefined) known[name] = fields[name];
  for (const axis of ['x', 'y']) if (!AXES.some((each) => each === known[axis])) delete known[axis];
  return known;
}

const FIELDS = [
  'prompt',
  'model',
  'width',
  'height',
  'steps',
  'guidance',
  'sampler',
  'seed',
  'version',
  'x',
  'xs',
  'y',
  'ys',
] as const satisfies readonly (keyof Comparison)[];
