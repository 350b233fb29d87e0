/** Sweeps: every combination of lists of values. Line n is a function of the sweep and n, so a sweep is never written out. */
import type { Sweep } from '@lehr/shared';

/** In the order in which they vary: the last one fastest. */
const AXES = ['model', 'adapters', 'prompt', 'sampler', 'steps', 'guidance', 'seed'] as const;

const axesOf = ({ values }: Sweep) =>
  AXES.flatMap((name) => {
    const list: readonly unknown[] | undefined = values[name];
    return list ? [{ name, list }] : [];
  });

export const sweepCount = (sweep: Sweep): number =>
  axesOf(sweep).reduce((count, { list }) => count * list.length, 1);

/** Of the longest line, about. */
export const sweepLineBytes = (sweep: Sweep): number =>
  axesOf(sweep)
    .map(({ list }) => Math.max(...list.map(bytesOf)))
    .reduce((sum, bytes) => sum + bytes, bytesOf(sweep.request));

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Of each list the value that a line has; lines are counted from 0. */
export function sweepValues(sweep: Sweep, line: number): Readonly<Record<string, unknown>> {
  const values: [string, unknown][] = [];
  let rest = line;
  for (const { name, list } of axesOf(sweep).reverse()) {
    values.unshift([name, list[rest % list.length]]);
    rest = Math.floor(rest / list.length);
  }
  return Object.fromEntries(values);
}

/** The request of the line with these values. */
export function requestWith(
  { request }: Sweep,
  { model, ...values }: ReturnType<typeof sweepValues>,
): object {
  const input = { ...(request.input as object | undefined), ...values };
  return { ...request, input, ...(model !== undefined && { model }) };
}

export const sweepLine = (sweep: Sweep, line: number): object => requestWith(sweep, sweepValues(sweep, line));

/** Those on which a price depends. */
const PRICED: readonly (typeof AXES)[number][] = ['model', 'adapters', 'sampler', 'steps', 'guidance'];

/** One line for every combination of values that have different prices: of all lines, as many have each of them. */
export function* pricedLines(sweep: Sweep): Generator<object> {
  const axes = axesOf(sweep).map(({ name, list }) => [name, PRICED.includes(name) ? list : list.slice(0, 1)]);
  const few: Sweep = { ...sweep, values: Object.fromEntries(axes) };
  for (let line = 0; line < sweepCount(few); line += 1) yield sweepLine(few, line);
}

interface SampleLine {
  readonly request: object;
  /** Of all lists the place of the value that this line has: that of the one which is looked at, and the first ones of the others. */
  placeOf(name: string): number;
}

/** Lines in which each value of each list occurs: when these are valid, all are, because the values do not depend on each other. */
export function* sampleLines(sweep: Sweep): Generator<SampleLine> {
  let step = 1;
  for (const { name: varied, list } of axesOf(sweep).reverse()) {
    for (let i = 0; i < list.length; i += 1)
      yield { request: sweepLine(sweep, i * step), placeOf: (name) => (name === varied ? i : 0) };
    step *= list.length;
  }
}

/** Where a field of the request of such a line is in the sweep: a value of a list, or what all lines share. */
export function pointerIn(sweep: Sweep, { placeOf }: SampleLine, pointer: string): string {
  const [, first, second] = pointer.split('/');
  const name = axesOf(sweep).find((each) => each.name === (first === 'model' ? first : second))?.name;
  return name === undefined ? `/sweep/request${pointer}` : `/sweep/values/${name}/${placeOf(name)}`;
}
