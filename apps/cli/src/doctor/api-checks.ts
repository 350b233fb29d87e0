/** Checks of Lehr over HTTP. */
import { type Lehr, LehrError } from '@lehr/client';
import { durationText } from '../table.ts';
import type { Check } from './check.ts';

const TIMEOUT_MS = 10_000;
/** Signed links and webhooks contain times, so the clocks must agree. The Date header has whole seconds. */
const MAX_SKEW_MS = 30_000;
const WARN_SKEW_MS = 5_000;

/** Ends after the first check when the API does not answer. */
export async function* checkApi(
  url: string,
  client: () => Promise<Lehr>,
  signal: AbortSignal,
): AsyncGenerator<Check, undefined> {
  const startedAt = Date.now();
  const ready = await fetch(`${url.replace(/\/+$/, '')}/readyz`, {
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch((error: Error & { cause?: Error }) => error);
  signal.throwIfAborted();
  if (ready instanceof Error) {
    const reason = (ready.cause as Error | undefined)?.message || ready.message;
    const advice = 'Start it (npm start), or set LEHR_URL to its address.';
    return void (yield { name: 'API', state: 'fail', detail: `no answer at ${url}: ${reason}`, advice });
  }
  const ms = Date.now() - startedAt;
  yield await readiness(url, ready, ms);
  yield clockCheck(ready, startedAt + ms / 2);
  yield* withKey(url, client, signal);
}

async function readiness(url: string, response: Response, ms: number): Promise<Check> {
  const name = 'API';
  if (response.ok) {
    const { workers, hint } = (await response.json()) as { workers: number; hint?: string };
    const detail = `${url} is ready (${ms} ms), ${workers} worker${workers === 1 ? '' : 's'} alive`;
    if (workers === 0) return { name, state: 'warn', detail, advice: `Start a worker. ${hint ?? ''}`.trim() };
    return hint ? { name, state: 'warn', detail, advice: hint } : { name, state: 'ok', detail };
  }
  if (response.status === 404) {
    const detail = `${url} answers (${ms} ms); its /readyz is at LEHR_OPERATIONS_PORT`;
    return { name, state: 'ok', detail };
  }
  const { detail = `${url} answers ${response.status}` } = (await response.json().catch(() => ({}))) as {
    detail?: string;
  };
  return {
    name,
    state: 'fail',
    detail,
    advice: 'See the checks below, or the log of the API.',
  };
}

function clockCheck({ headers }: Response, askedAt: number): Check {
  const name = 'clock of the API';
  const date = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(date)) return { name, state: 'warn', detail: 'its answers have no Date header' };
  // The Date header drops the fraction of the second: half a second on average.
  const skewMs = date + 500 - askedAt;
  const detail = `${durationText(Math.abs(skewMs))} ${skewMs < 0 ? 'behind' : 'ahead of'} this machine`;
  if (Math.abs(skewMs) <= WARN_SKEW_MS) return { name, state: 'ok', detail: 'agrees with this machine' };
  const state = Math.abs(skewMs) > MAX_SKEW_MS ? 'fail' : 'warn';
  return {
    name,
    state,
    detail,
    advice: 'Synchronize both clocks with NTP: signed links and webhooks contain times.',
  };
}

async function* withKey(
  url: string,
  client: () => Promise<Lehr>,
  signal: AbortSignal,
): AsyncGenerator<Check, undefined> {
  try {
    const lehr = await client();
    const models = await lehr.models({ signal });
    yield { name: 'key', state: 'ok', detail: 'it is valid and has the scope read' };
    const { data, models: served } = await lehr.queues({ signal });
    for (const { model, workers, breaker } of served) yield modelCheck(model, workers, breaker);
    if (models.length === 0) {
      yield {
        name: 'models',
        state: 'fail',
        detail: 'there are none',
        advice: 'Set LEHR_MODELS to the path of a models.yaml.',
      };
    }
    const waiting = data.reduce((sum, queue) => sum + queue.waiting, 0);
    const oldestMs = Math.max(0, ...data.map(({ oldest_age_ms }) => oldest_age_ms ?? 0));
    const detail =
      waiting === 0 ? 'no job waits' : `${waiting} jobs wait, the oldest for ${durationText(oldestMs)}`;
    yield { name: 'queues', state: 'ok', detail };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof LehrError && error.status === 404) {
      const advice = 'If it is the address of LEHR_OPERATIONS_PORT, set LEHR_URL to that of LEHR_PORT.';
      return void (yield { name: 'key', state: 'fail', detail: `${url} has no /v1/models`, advice });
    }
    const { message } = error as Error;
    const isServerError = error instanceof LehrError && error.status !== 401 && error.status !== 403;
    const advice = isServerError
      ? 'See the log of the API.'
      : 'Set LEHR_API_KEY to a key with the scope read.';
    yield { name: 'key', state: 'fail', detail: message, advice };
  }
}

function modelCheck(model: string, workers: number, breaker: string): Check {
  const name = `model ${model}`;
  if (workers === 0) {
    const advice = 'Start a worker with its task in LEHR_TASKS. Its jobs are accepted and wait.';
    return { name, state: 'warn', detail: 'no worker serves it', advice };
  }
  const detail = `served by ${workers}`;
  if (breaker === 'closed') return { name, state: 'ok', detail };
  const advice = 'Jobs are refused because they would wait too long. Add workers, or raise LEHR_MAX_WAIT_S.';
  return { name, state: 'warn', detail: `${detail}, breaker ${breaker}`, advice };
}
