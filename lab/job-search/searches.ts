/**
 * npm run lab -- job-search: what it takes to find jobs among many, over HTTP to the API that ships, on the Redis that ships with its users; and
 * what a job and its labels cost Redis.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { JobId, JobList } from '../../packages/shared/src/index.ts';
import { keysOf, openRedis, type Redis } from '../../packages/shared/src/redis/index.ts';
import { freePort } from '../../test/support/ports.ts';
import { asUser, startRedis } from '../../test/support/redis-server.ts';
import { ready } from '../bench/whole-lehr.ts';
import { load, machineName } from '../results.ts';
import { atPercent } from '../simulation/figures.ts';
import { type LabelsOf, type StoredJobs, storeJobs } from './stored-jobs.ts';

const KEY = 'lehr_job_search_0123456789';
/** Memory is measured on so many jobs, or on all if there are less. */
const WEIGHED = 20_000;
const JOBS_OF_A_CUSTOMER = 100;
const PAGE = 20;
const MODELS = 'models: [{ name: sd, task: diffusion, versions: [{ version: "1", path: sd }] }]';
const WORDS = 'words that no job has, one search after the other';
const ASKED = 200;
const LEAST_JOBS = 1000;
const THIS_FILE = fileURLToPath(import.meta.url);
const API = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url));

export interface SearchOptions {
  readonly jobs: number;
  /** Searches of each kind, and pages. */
  readonly asked: number;
  readonly say: (line: string) => void;
}

export interface SearchFigures {
  /** How many bytes of Redis a job takes: without a label, with a label that a hundred jobs have, and with one that no other job has. */
  readonly bytes: Readonly<Record<'plain' | 'shared' | 'own', number>>;
  /** ms, and jobs on a page on average. */
  readonly searches: readonly Readonly<{ name: string; p50: number; p95: number; found: number }>[];
  /** Jobs that were made while pages were read. */
  readonly inserted: number;
}

type Ask = (path: string, body?: object) => Promise<unknown>;

export async function measureSearches(options: SearchOptions): Promise<SearchFigures> {
  const { jobs, say } = options;
  const server = await startRedis();
  // The role without a time limit for commands.
  const redis = openRedis(server.url, 'blocking');
  try {
    const bytes = await weigh(redis, Math.min(WEIGHED, jobs));
    say(`bytes of Redis for a job: ${JSON.stringify(bytes)}`);
    const stored = await storeJobs(redis, keysOf('lehr'), jobs, labelsAmong(jobs));
    say(`${jobs} jobs are stored in ${Math.round((await usedBytes(redis)) / 2 ** 20)} MiB`);
    return { bytes, ...(await withApi(asUser(server.url, 'api'), (ask) => search(ask, stored, options))) };
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

const isOfPlan = (place: number): boolean => Math.floor(place / 3) % 10 === 0;
/** A label that a hundred jobs have, spread over all the time, and one that every tenth job has. */
const labelsAmong = (jobs: number): LabelsOf => {
  const customers = customersOf(jobs);
  return (place) => ({ customer: `${place % customers}`, plan: isOfPlan(place) ? 'pro' : 'free' });
};
const customersOf = (jobs: number): number => Math.max(1, Math.floor(jobs / JOBS_OF_A_CUSTOMER));

const usedBytes = async (redis: Redis): Promise<number> =>
  Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);

async function weigh(redis: Redis, count: number): Promise<SearchFigures['bytes']> {
  const customers = customersOf(count);
  const one = async (labelsOf: LabelsOf): Promise<number> => {
    const before = await usedBytes(redis);
    await storeJobs(redis, keysOf('lehr'), count, labelsOf);
    const bytes = ((await usedBytes(redis)) - before) / count;
    await redis.flushall();
    return Math.round(bytes);
  };
  // The first jobs also load the scripts.
  await one(() => ({}));
  return {
    plain: await one(() => ({})),
    shared: await one((place) => ({ customer: `${place % customers}` })),
    own: await one((place) => ({ order: `${place}` })),
  };
}

async function withApi<Result>(redisUrl: string, use: (ask: Ask) => Promise<Result>): Promise<Result> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-job-search-'));
  const models = join(home, 'models.yaml');
  await writeFile(models, MODELS);
  const port = await freePort();
  const env = {
    PATH: process.env.PATH,
    LEHR_HOME: home,
    LEHR_MODELS: models,
    LEHR_PORT: `${port}`,
    LEHR_REDIS_URL: redisUrl,
    LEHR_API_KEY: KEY,
    LEHR_LOG_LEVEL: 'error',
    // No worker runs, so no wait may be too long.
    LEHR_MAX_WAIT_S: '1e9',
  };
  const api = spawn(process.execPath, [API], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  try {
    await ready(`${url}/healthz`);
    return await use(async (path, body) => {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      return response.json();
    });
  } finally {
    await ended(api);
    await rm(home, { recursive: true, force: true });
  }
}

async function ended(api: ChildProcess): Promise<void> {
  if (api.exitCode !== null || api.signalCode !== null) return;
  const exit = once(api, 'exit');
  api.kill('SIGTERM');
  await exit;
}

async function search(
  ask: Ask,
  stored: StoredJobs,
  { asked, say }: SearchOptions,
): Promise<Pick<SearchFigures, 'searches' | 'inserted'>> {
  const { count, firstAt, stepMs } = stored;
  const timeAt = (place: number): string => new Date(firstAt + place * stepMs).toISOString();
  const customer = (i: number): string => `metadata[customer]=${(i * 37) % customersOf(count)}`;
  const half = `created_after=${timeAt(count / 4)}&created_before=${timeAt((count * 3) / 4)}`;
  const kinds: Readonly<Record<string, (i: number) => string>> = {
    'the newest jobs, for comparison': () => '',
    'a label': customer,
    'a label, status and time': (i) => `${customer(i)}&status=failed&${half}`,
    'two labels': (i) => `${customer(i)}&metadata[plan]=pro`,
    'a label of every tenth job, status and time': () => `metadata[plan]=pro&status=failed&${half}`,
    'time alone': (i) => `created_before=${timeAt(((i + 1) * count) / (asked + 1))}`,
    [WORDS]: () => 'text=nothing is called so',
  };
  const taken = new Map(Object.keys(kinds).map((name) => [name, { ms: [] as number[], found: 0 }]));
  const askFor = async (isIn: (name: string) => boolean): Promise<void> => {
    for (let i = 0; i < asked; i++)
      for (const [name, each] of taken) {
        if (!isIn(name)) continue;
        const at = performance.now();
        each.found += ((await ask(`/v1/jobs?limit=${PAGE}&${kinds[name](i)}`)) as JobList).data.length;
        each.ms.push(performance.now() - at);
      }
  };
  // In turns, so that other load of the machine slows all of them. After a search for words its tenant waits, so these come apart.
  await askFor((name) => name !== WORDS);
  await askFor((name) => name === WORDS);
  const { inserted, ...deep } = await readDeepPages(ask, stored, asked);
  taken.set('deep pages of a label while jobs are made', deep);
  const searches = [...taken].map(([name, { ms, found }]) => ({
    ...{ name, p50: atPercent(ms, 50), p95: atPercent(ms, 95) },
    found: found / ms.length,
  }));
  for (const { name, p50, p95, found } of searches)
    say(`${name}: p50 ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, ${found.toFixed(1)} jobs a page`);
  return { searches, inserted };
}

/** Pages of a label from the middle of the list on. Throws unless they have every such job once, newest first. */
async function readDeepPages(ask: Ask, { count, idAt }: StoredJobs, pages: number) {
  const ms: number[] = [];
  let found = 0;
  let place = Math.floor(count / 2);
  const next = (): JobId => {
    do place -= 1;
    while (!isOfPlan(place));
    return idAt(place);
  };
  const inserting = new AbortController();
  const inserted = insertUntil(ask, inserting.signal);
  let cursor: string | null = Buffer.from(idAt(place)).toString('base64url');
  try {
    while (ms.length < pages && cursor !== null) {
      const at = performance.now();
      const page = (await ask(`/v1/jobs?limit=${PAGE}&metadata[plan]=pro&cursor=${cursor}`)) as JobList;
      ms.push(performance.now() - at);
      found += page.data.length;
      for (const { id } of page.data) {
        const wanted = next();
        if (id !== wanted) throw new Error(`A page has ${id}, wanted ${wanted}`);
      }
      cursor = page.next_cursor;
    }
  } finally {
    inserting.abort();
  }
  return { ms, found, inserted: await inserted };
}

async function insertUntil(ask: Ask, signal: AbortSignal): Promise<number> {
  let made = 0;
  for (; !signal.aborted; made++)
    await ask('/v1/jobs', { type: 'text-to-image', input: { prompt: 'x' }, metadata: { plan: 'pro' } });
  return made;
}

if (process.argv[1] === THIS_FILE) {
  const jobs = Number(JSON.parse(process.argv[2]).jobs);
  if (!(jobs >= LEAST_JOBS)) throw new Error(`--jobs is ${jobs}, expected ${LEAST_JOBS} or more`);
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  say(`${machineName()}, load ${load()}`);
  const { inserted } = await measureSearches({ jobs, asked: ASKED, say });
  say(`${inserted} jobs were made beside the deep pages; load ${load()}`);
}
