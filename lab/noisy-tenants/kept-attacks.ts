/** Attacks with what makes or changes jobs by itself, and with searches among many: batches, schedules, actions and filters. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AttackContext,
  headersOf,
  makeCancelled,
  PICTURE,
  type PreparedAttack,
  readForever,
} from './list-attacks.ts';

const MAX_SCHEDULES = 1000;
const MIN_EVERY_S = 10;
const LOOK_EVERY_MS = 1000;
/** Actions begin again when they are through, so more jobs only take longer to make and to end. */
const WAITING_JOBS = 2_000;
const POSTS_AT_ONCE = 8;
const REQUEST = { type: 'text-to-image', input: {} };

async function post({ port, ...context }: AttackContext, path: string, body: object): Promise<number> {
  const headers = headersOf({ port, ...context });
  const url = `http://127.0.0.1:${port}${path}`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
}

/** 100,000 lines at full size; a new one when the attacker has none that goes on. */
async function largestBatch(context: AttackContext): Promise<never> {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
  const prompts = numbers(Math.ceil(100 * context.scale)).map((i) => `prompt ${i}`);
  const sweep = { request: REQUEST, values: { prompt: prompts, seed: numbers(1000) } };
  const url = `http://127.0.0.1:${context.port}/v1/batches?limit=1`;
  for (;;) {
    const { data } = (await (await fetch(url, { headers: headersOf(context) })).json()) as {
      data: { status: string }[];
    };
    if (data[0]?.status !== 'in_progress') await post(context, '/v1/batches', { sweep });
    await sleep(LOOK_EVERY_MS);
  }
}

/** As many as a tenant may have, each as often as it may run. */
async function makeSchedules(context: AttackContext): Promise<void> {
  for (let i = 0; i < MAX_SCHEDULES * context.scale; i += 1)
    await post(context, '/v1/schedules', { name: `attack ${i}`, every_s: MIN_EVERY_S, request: REQUEST });
}

async function makeWaiting(context: AttackContext): Promise<void> {
  let left = WAITING_JOBS * context.scale;
  const posts = Array.from({ length: POSTS_AT_ONCE }, async () => {
    while (left-- > 0 && (await post(context, '/v1/jobs', { ...REQUEST, priority: 'bulk' })) === 202);
  });
  await Promise.all(posts);
}

/** Moves all of them in the queue, again and again: as many actions at once as a tenant may have. Counts wait for nothing. */
async function actOnAll(context: AttackContext): Promise<never> {
  const all = { filter: {}, all: true };
  for (;;) {
    for (const priority of ['standard', 'bulk']) {
      const status = await post(context, '/v1/job-actions', { ...all, action: 'prioritize', priority });
      if (status !== 202) await sleep(LOOK_EVERY_MS);
    }
    await post(context, '/v1/job-actions', { ...all, action: 'delete', dry_run: true });
  }
}

/** Searches that find nothing, among records with the longest prompts. */
const search = (context: AttackContext): Promise<unknown> =>
  Promise.all(
    [
      'text=nothing%20is%20called%20so',
      'text=nothing%20is%20called%20so&status=failed&created_after=2020-01-01T00:00:00Z',
      'metadata[customer]=42&text=nothing%20is%20called%20so',
    ].map((filter) => readForever(context, 4, `/v1/jobs?limit=100&${filter}`)),
  );

const prepareSearch = (context: AttackContext): Promise<void> =>
  makeCancelled(context, Math.ceil(200 * context.scale), { ...PICTURE, metadata: { customer: '42' } });

/** In characters: a megabyte of prompts. */
const SWEPT_PROMPTS = Array.from({ length: 30 }, (_, i) => `${i} ${'s'.repeat(31_000)}`);

async function batchIds({ port, ...context }: AttackContext): Promise<string[]> {
  const url = `http://127.0.0.1:${port}/v1/batches?limit=100`;
  const page = await (await fetch(url, { headers: headersOf({ port, ...context }) })).json();
  return (page as { data: { id: string }[] }).data.map(({ id }) => id);
}

/** Cancelled at once: only their lists and lines are read. */
async function makeSweeps(context: AttackContext): Promise<void> {
  if ((await batchIds(context)).length > 0) return;
  const sweep = { request: { type: 'text-to-image' }, values: { prompt: SWEPT_PROMPTS } };
  for (let i = 0; i < 40 * context.scale; i += 1) {
    await post(context, '/v1/batches', { sweep });
    const [newest] = await batchIds(context);
    await post(context, `/v1/batches/${newest}/cancel`, {});
  }
}

async function readSweeps(context: AttackContext): Promise<unknown> {
  const [id] = await batchIds(context);
  return Promise.all([
    readForever(context, 4, '/v1/batches?limit=100'),
    readForever(context, 4, `/v1/batches/${id}/lines`),
    readForever(context, 4, `/v1/batches/${id}/results.zip`),
  ]);
}

export const KEPT_ATTACKS: Readonly<Record<string, PreparedAttack>> = {
  'the largest batch': { prepare: async () => {}, attack: largestBatch },
  'a thousand schedules': { prepare: makeSchedules, attack: () => once(process, 'disconnect') },
  'actions on all jobs': { prepare: makeWaiting, attack: actOnAll },
  'reads of the largest sweeps': { prepare: makeSweeps, attack: readSweeps },
  'the widest filters': { prepare: prepareSearch, attack: search },
  'a batch, schedules and filters at once': {
    prepare: async (context) => {
      await makeSchedules(context);
      await prepareSearch(context);
    },
    attack: (context) => Promise.all([largestBatch(context), search(context)]),
  },
};
