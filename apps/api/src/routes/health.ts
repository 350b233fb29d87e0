/** Health and readiness probes. They need no key, so they show no details. */
import { createRoute, z } from '@hono/zod-openapi';
import { ConfigError, claimStore, countWorkers, type FieldProblem, LehrError } from '@lehr/shared';
import { assertNothingDropped } from '@lehr/shared/redis';
import { Recent } from '../base/recent.ts';
import type { FleetView } from '../fleet/fleet-view.ts';
import { problems } from '../http/responses.ts';
import type { Api, ApiParts } from '../parts.ts';

/** All probes of a second share one write to the store: probes need no key, and a bucket charges for writes. */
const STORE_TTL_MS = 1000;
/** A part that does not respond counts as missing after this, before the probe itself times out. */
const CHECK_TIMEOUT_MS = 2000;

const NO_WORKER = 'No worker is alive: jobs are accepted and wait for one.';
const NO_AUDIO =
  'A worker cannot decode audio, so its speech jobs fail: its /readyz and its log say why, mostly a missing ffmpeg.';

const OLD_MODELS =
  'models.yaml has changed and cannot be used: the earlier models are offered. The log of this process says why.';

const health = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'getHealth',
  tags: ['operation'],
  summary: 'Check that the process is alive',
  description: 'Checks nothing else, so that an outage of Redis does not restart every API process.',
  responses: {
    200: {
      description: 'The process is alive.',
      content: { 'application/json': { schema: z.object({ status: z.literal('ok') }) } },
    },
  },
});

const readiness = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  tags: ['operation'],
  summary: 'Check that the API can accept jobs',
  description:
    'Writes to Redis, which must have loaded all of its log, and to the store, which must be the one of the installation. No worker is ' +
    'needed, because jobs wait until one starts; the response has their number.',
  responses: {
    200: {
      description: 'The API can accept jobs.',
      content: {
        'application/json': {
          schema: z.object({
            status: z.literal('ready'),
            workers: z.int().nonnegative(),
            hint: z.string().optional(),
          }),
        },
      },
    },
    ...problems('unavailable'),
  },
});

export function healthRoute(app: Api): void {
  app.openapi(health, (c) => c.json({ status: 'ok' as const }, 200));
}

export function readyRoute(app: Api, parts: ApiParts): void {
  const { redis, keys, store, clock, fleet, modelsProblem } = parts;
  const storeWrite = new Recent(() => store.check(), STORE_TTL_MS, clock);
  const ownStore = new Recent(() => claimStore({ ...parts, place: parts.storePlace }), STORE_TTL_MS, clock);

  app.openapi(readiness, async (c) => {
    const written = await Promise.all([
      missingPart('redis', redis.set(keys.probe, clock.now(), 'EX', 60)),
      missingPart('store', storeWrite.get()),
    ]);
    const isWritten = written.every((problem) => problem === undefined);
    const whole = isWritten
      ? [missingPart('store', ownStore.get()), missingPart('redis', assertNothingDropped(redis))]
      : [];
    const missing = [...written, ...(await Promise.all(whole))].filter((problem) => problem !== undefined);
    if (missing.length > 0) throw notReady(missing);
    // Counted now, not cached: a worker that has just started must be included.
    const workers = await countWorkers(redis, keys);
    const hint = workers === 0 ? NO_WORKER : (modelsHint(modelsProblem()) ?? (await audioHint(fleet)));
    return c.json({ status: 'ready' as const, workers, ...(hint && { hint }) }, 200);
  });
}

/** Without the problem itself: probes need no key. */
const modelsHint = (problem: string | undefined): string | undefined =>
  problem === undefined ? undefined : OLD_MODELS;

/** Undefined also when the reports cannot be read: the hint must not make a probe fail. */
async function audioHint(fleet: FleetView): Promise<string | undefined> {
  const workers = await fleet.workers().catch(() => []);
  return workers.some((worker) => worker.audio_problem !== undefined) ? NO_AUDIO : undefined;
}

/** Undefined when the check succeeds in time. The cause is only logged: probes need no key and get no details. */
async function missingPart(
  name: string,
  check: Promise<unknown>,
): Promise<(FieldProblem & { cause: unknown }) | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([check, timeout]);
    return undefined;
  } catch (cause) {
    return { pointer: `/${name}`, detail: detailOf(cause), cause };
  } finally {
    clearTimeout(timer);
  }
}

function detailOf(cause: unknown): string {
  if (cause instanceof ConfigError) return 'is not the one of this installation';
  const isDropped = cause instanceof LehrError && cause.code === 'unavailable';
  return isDropped ? 'has dropped a part of its log' : 'does not take a write';
}

function notReady(missing: readonly (FieldProblem & { cause: unknown })[]): LehrError {
  const parts = missing.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join(', ');
  const cause = new AggregateError(missing.map((each) => each.cause));
  return new LehrError('unavailable', `Not ready: ${parts}.`, { problems: missing, cause });
}
