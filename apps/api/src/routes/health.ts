/** Is the process alive, and can it do its work. Both are open: they tell no more than that. */
import { createRoute, z } from '@hono/zod-openapi';
import { countWorkers, type FieldProblem, LehrError } from '@lehr/shared';
import type { Api, ApiParts } from '../api.ts';
import { Recent } from '../recent.ts';
import { problems } from '../responses.ts';

/** One write to the store serves all probes of a second: anybody may probe, and a bucket bills its writes. */
const STORE_TTL_MS = 1000;
/** A part that does not answer counts as missing before a probe gives up on us. */
const PATIENCE_MS = 2000;

const healthRoute = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'getHealth',
  tags: ['operation'],
  summary: 'Is the process alive',
  description: 'Asks nobody else, so that an outage of Redis does not have every API restarted.',
  responses: {
    200: {
      description: 'It is.',
      content: { 'application/json': { schema: z.object({ status: z.literal('ok') }) } },
    },
  },
});

const readyRoute = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  tags: ['operation'],
  summary: 'Can it take jobs',
  description:
    'Writes to Redis and to the store. Workers come and go by themselves and jobs wait for them, so none is needed; their ' +
    'number is shown.',
  responses: {
    200: {
      description: 'It can.',
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

export function healthRoutes(app: Api, { redis, keys, store, clock }: ApiParts): void {
  const storeWrite = new Recent(() => store.check(), STORE_TTL_MS, clock);

  app.openapi(healthRoute, (c) => c.json({ status: 'ok' as const }, 200));

  app.openapi(readyRoute, async (c) => {
    const missing = (
      await Promise.all([
        missingPart('redis', 'does not take a write', redis.set(keys.probe, clock.now(), 'EX', 60)),
        missingPart('store', 'does not take a write', storeWrite.get()),
      ])
    ).filter((problem) => problem !== undefined);
    if (missing.length > 0) throw notReady(missing);
    // Not the view of a second ago: who has just started a worker asks whether it is there.
    const workers = await countWorkers(redis, keys);
    const hint = workers === 0 ? 'No worker is alive: jobs are taken and wait for one.' : undefined;
    return c.json({ status: 'ready' as const, workers, ...(hint && { hint }) }, 200);
  });
}

/** Undefined when the check goes through in time. The reason is for the log: probes are open, so they learn no details. */
async function missingPart(
  name: string,
  detail: string,
  check: Promise<unknown>,
): Promise<(FieldProblem & { cause: unknown }) | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    await Promise.race([check, late]);
    return undefined;
  } catch (cause) {
    return { pointer: `/${name}`, detail, cause };
  } finally {
    clearTimeout(timer);
  }
}

function notReady(missing: readonly (FieldProblem & { cause: unknown })[]): LehrError {
  const said = missing.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`).join(', ');
  const cause = new AggregateError(missing.map((each) => each.cause));
  return new LehrError('unavailable', `Not ready: ${said}.`, { problems: missing, cause });
}
