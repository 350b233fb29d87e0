/**
 * A comparison: one prompt and its settings, of which two vary along the axes. Pure. The address keeps it after the `#`, which
 * browsers send to no server, because the prompt is in it.
 */
import type { BatchLine, BatchRequest } from '@lehr/client';

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

/** The most pictures of one comparison. */
export const MAX_CELLS = 36;

/** Characters of the name that the batch has in the list of batches. */
const MAX_NAME = 100;

/** What is missing or wrong; undefined for a comparison that can be made. */
export type Problem = 'prompt' | 'same-axis' | 'no-values' | 'not-numbers' | 'too-many';

export function valuesOf(text: string): string[] {
  return [...new Set(text.split(/[,;\s]+/).filter((value) => value !== ''))];
}

const axesOf = ({ x, y, xs, ys }: Comparison) => [
  { axis: x, values: valuesOf(xs) },
  { axis: y, values: valuesOf(ys) },
];

export function problemOf(comparison: Comparison): Problem | undefined {
  const { prompt, x, y } = comparison;
  const axes = axesOf(comparison);
  if (prompt.trim() === '') return 'prompt';
  if (x === y) return 'same-axis';
  if (axes.some(({ values }) => values.length === 0)) return 'no-values';
  if (axes.some(({ axis, values }) => isNumeric(axis) && !values.every(isNumber))) return 'not-numbers';
  return countCells(comparison) > MAX_CELLS ? 'too-many' : undefined;
}

export const countCells = ({ xs, ys }: Comparison): number => valuesOf(xs).length * valuesOf(ys).length;

export const isNumeric = (axis: Axis): boolean => axis !== 'sampler' && axis !== 'version';
const isNumber = (value: string): boolean => Number.isFinite(Number(value));

/** All cells as one batch. A person waits for them. */
export function batchOf(comparison: Comparison): BatchRequest {
  const lists = axesOf(comparison).map(({ axis, values }) => [
    fieldOf(axis),
    values.map((each) => sweptValue(comparison, axis, each)),
  ]);
  return {
    sweep: { request: requestOf(comparison), values: Object.fromEntries(lists) },
    priority: 'interactive',
    metadata: { name: [...comparison.prompt].slice(0, MAX_NAME).join('') },
  };
}

/** The line of a cell; undefined while it is not known. */
export function lineOf(lines: readonly BatchLine[], comparison: Comparison, x: string, y: string) {
  const has = ({ values }: BatchLine, axis: Axis, value: string): boolean =>
    values?.[fieldOf(axis)] === sweptValue(comparison, axis, value);
  return lines.find((line) => has(line, comparison.x, x) && has(line, comparison.y, y));
}

/** The list of a sweep. */
export const fieldOf = (axis: Axis) => (axis === 'version' ? 'model' : axis);

function sweptValue({ model }: Comparison, axis: Axis, value: string): string | number {
  if (axis === 'version') return `${model}@${value}`;
  return isNumeric(axis) ? Number(value) : value;
}

/** What all cells share. The batch puts the values of the axes in place of what it has of these. */
function requestOf({ model, version, prompt, sampler, ...numbers }: Comparison) {
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
  };
}

/** `batch`: the one that was made of it. */
export const toFragment = (comparison: Comparison, batch?: string): string =>
  new URLSearchParams({ ...comparison, ...(batch !== undefined && { batch }) }).toString();

/** The fields that the fragment has; others, and what is no axis or no id, are left out. */
export function fromFragment(fragment: string): Partial<Comparison> & { readonly batch?: string } {
  const fields = Object.fromEntries(new URLSearchParams(fragment));
  const known: Record<string, string> = {};
  for (const name of FIELDS) if (fields[name] !== undefined) known[name] = fields[name];
  for (const axis of ['x', 'y']) if (!AXES.some((each) => each === known[axis])) delete known[axis];
  // It becomes a part of a path.
  if (!/^\w+$/.test(known.batch ?? '')) delete known.batch;
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
  'batch',
] as const satisfies readonly (keyof Comparison | 'batch')[];
