/**
 * The charts of the studio: each is a few queries of the closed list, over one of five ranges. A query of Prometheus has a limit on its
 * time and on the size of its answer.
 */
import {
  CHART_NAMES,
  CHART_RANGES,
  type Chart,
  type ChartList,
  type ChartName,
  type ChartRange,
  type Clock,
  LehrError,
  toLehrError,
} from '@lehr/shared';
import { z } from 'zod';
import { Recent } from '../base/recent.ts';
import { CHARTS, type ChartQuery } from './queries.ts';

/** All viewers of a process share a reading. */
const TTL_MS = 5_000;
const MAX_LINES = 10;
/** Prometheus needs two scrapes in it. */
const MIN_WINDOW_S = 60;

type Series = Chart['series'][number];

export class ChartsView {
  readonly #url: string | undefined;
  readonly #clock: Clock;
  readonly #readings = new Map<ChartRange, Recent<ChartList>>();

  /** `url`: the base address of a Prometheus; undefined when there is none. */
  constructor(url: string | undefined, clock: Clock) {
    this.#url = url;
    this.#clock = clock;
  }

  /** Never rejects: each chart says by itself why it could not be read. */
  get(range: ChartRange): Promise<ChartList> {
    const known = this.#readings.get(range);
    if (known) return known.get();
    const reading = new Recent(() => this.#read(range), TTL_MS, this.#clock);
    this.#readings.set(range, reading);
    return reading.get();
  }

  async #read(range: ChartRange): Promise<ChartList> {
    const { rangeS, stepS } = CHART_RANGES[range];
    // On whole steps, so that the values of two readings are those of the same points in time.
    const to = Math.floor(this.#clock.now() / 1000 / stepS) * stepS;
    const span = { from: to - rangeS, to, stepS };
    const url = this.#url;
    return {
      object: 'charts',
      source: url === undefined ? null : 'prometheus',
      range,
      from: new Date(span.from * 1000).toISOString(),
      step_s: stepS,
      points: pointsOf(span),
      data: url === undefined ? [] : await Promise.all(CHART_NAMES.map((name) => readChart(url, name, span))),
    };
  }
}

const pointsOf = ({ from, to, stepS }: Span): number => (to - from) / stepS + 1;

async function readChart(url: string, name: ChartName, span: Span): Promise<Chart> {
  const { unit, queries } = CHARTS[name];
  try {
    const read = await Promise.all(queries.map((query) => readLines(url, query, span)));
    const series = read.flat().sort((a, b) => lastOf(b) - lastOf(a));
    const shown = series.slice(0, MAX_LINES);
    return { name, unit, series: shown, more_series: series.length - shown.length, problem: null };
  } catch (error) {
    return { name, unit, series: [], more_series: 0, problem: toLehrError(error).message };
  }
}

async function readLines(url: string, { expr, line }: ChartQuery, span: Span): Promise<Series[]> {
  const window = `${Math.max(MIN_WINDOW_S, span.stepS)}s`;
  const lines = await queryRange(url, expr.replaceAll('WINDOW', window), span);
  return lines
    .map((each) => ({
      name: 'name' in line ? line.name : (each.metric[line.label] ?? ''),
      values: valuesOf(each, span),
    }))
    .filter(({ values }) => values.some((value) => value !== null));
}

/** One value for each step; Prometheus leaves out the steps without one, and writes NaN where a rate of nothing is divided. */
function valuesOf({ values }: Line, span: Span): (number | null)[] {
  const filled: (number | null)[] = new Array(pointsOf(span)).fill(null);
  for (const [at, text] of values) {
    const value = Number(text);
    const i = Math.round((at - span.from) / span.stepS);
    if (i >= 0 && i < filled.length && Number.isFinite(value)) filled[i] = Number(value.toPrecision(6));
  }
  return filled;
}

const lastOf = ({ values }: Series): number => values.findLast((value) => value !== null) ?? 0;

const TIMEOUT_MS = 5_000;
/** Some hundred lines of a chart. Prometheus has no limit for the size of an answer. */
const MAX_BYTES = 4_000_000;

const MatrixSchema = z.object({
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});
type Line = z.output<typeof MatrixSchema>['data']['result'][number];

interface Span {
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
  readonly stepS: number;
}

/** Throws LehrError `unavailable` with what an administrator can act on. */
async function queryRange(base: string, expr: string, { from, to, stepS }: Span): Promise<Line[]> {
  const url = new URL(`${base.replace(/\/$/, '')}/api/v1/query_range`);
  [url.username, url.password] = ['', ''];
  const timeout = `${TIMEOUT_MS / 1000}s`;
  url.search = String(
    new URLSearchParams({ query: expr, start: `${from}`, end: `${to}`, step: `${stepS}`, timeout }),
  );
  const { status, text } = await get(url, headersOf(base));
  if (status !== 200) throw unavailable(`Prometheus answered ${status}: ${reasonIn(text)}`);
  const answer = MatrixSchema.safeParse(parsed(text));
  if (!answer.success) throw unavailable('What answers at LEHR_PROMETHEUS_URL is no Prometheus.');
  return answer.data.data.result;
}

/** fetch takes no name and password in an address. */
function headersOf(base: string): Record<string, string> {
  const { username, password } = new URL(base);
  if (username === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

async function get(url: URL, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(url, { signal, redirect: 'error', headers });
    return { status: answer.status, text: await bounded(answer) };
  } catch (error) {
    if (error instanceof LehrError) throw error;
    const isLate = (error as Error).name === 'TimeoutError';
    throw unavailable(
      isLate ? `Prometheus did not answer within ${TIMEOUT_MS / 1000} s.` : 'Prometheus does not answer.',
      error,
    );
  }
}

async function bounded(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw unavailable('The answer of Prometheus is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const FaultSchema = z.object({ error: z.string() });
const reasonIn = (text: string): string =>
  FaultSchema.safeParse(parsed(text)).data?.error ?? 'no reason given.';

const unavailable = (message: string, cause?: unknown): LehrError =>
  new LehrError('unavailable', message, { cause });
