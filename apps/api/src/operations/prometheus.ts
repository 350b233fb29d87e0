/** One query of a Prometheus over a range of time, with a limit on its time and on the size of its answer. */
import { LehrError } from '@lehr/shared';
import { z } from 'zod';

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
export type Line = z.output<typeof MatrixSchema>['data']['result'][number];

export interface Span {
  /** Unix seconds. */
  readonly from: number;
  readonly to: number;
  readonly stepS: number;
}

/** Throws LehrError `unavailable` with what an administrator can act on. */
export async function queryRange(base: string, expr: string, { from, to, stepS }: Span): Promise<Line[]> {
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
