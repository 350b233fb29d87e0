/**
 * Starts of the worker that ships, in parts, with one model: fetched for the first time, from disk with nothing of it in the page cache
 * of the machine, and with all of it there. Needs the build.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { START_STAGES } from '../../packages/shared/src/index.ts';
import { freePort } from '../../test/support/ports.ts';
import { startRedis } from '../../test/support/redis-server.ts';

/** In the order in which a round measures them: the first fills the cache of models that the others use. */
export const STATES = ['fetched', 'page cache cold', 'page cache warm'] as const;
export type State = (typeof STATES)[number];

/** ms each. `engine` is what `open` of the start has besides the graphs and the warm-up; `first-answer` is a job of one step. */
export const PARTS = [
  'process',
  'connect',
  'pull',
  'engine',
  'graphs',
  'warm-up',
  'total',
  'first-answer',
] as const;
export type Parts = Readonly<Record<(typeof PARTS)[number], number>>;

export interface ColdModel {
  readonly name: string;
  /** A diffusion model. */
  readonly folder: string;
  /** Width and height of the picture of the first job. */
  readonly size: number;
}

const KEY = 'lehr_bench_key_0123456789';
const REF = 'cold@1';
const LOOK_EVERY_MS = 50;
const entry = (app: string): string => new URL(`../../apps/${app}/dist/main.js`, import.meta.url).pathname;

/** The starts of each state, `rounds` of them. */
export async function coldStarts(
  model: ColdModel,
  rounds: number,
): Promise<Readonly<Record<State, Parts[]>>> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-cold-'));
  const redis = await startRedis();
  const port = await freePort();
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'))),
    LEHR_HOME: home,
    LEHR_REDIS_URL: redis.url,
    LEHR_PORT: `${port}`,
    LEHR_API_KEY: KEY,
    LEHR_WORKER_PORT: '0',
    LEHR_DEVICE: 'cpu',
    LEHR_MODELS: await modelsFile(home, model),
    LEHR_MODEL_CACHE: join(home, 'cache'),
  };
  const api = spawn(process.execPath, [entry('api')], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const ask = asking(`http://127.0.0.1:${port}`);
  try {
    await until(async () => (await ask('GET', '/readyz').catch(() => undefined)) !== undefined);
    const found: Record<State, Parts[]> = { fetched: [], 'page cache cold': [], 'page cache warm': [] };
    for (let round = 0; round < rounds; round += 1) {
      await rm(env.LEHR_MODEL_CACHE, { recursive: true, force: true });
      for (const state of STATES) {
        if (state === 'fetched') await forgotten(join(home, 'source'));
        if (state === 'page cache cold') await forgotten(env.LEHR_MODEL_CACHE);
        found[state].push(await startOnce(env, ask, model.size));
      }
    }
    return found;
  } finally {
    await ended(api);
    await redis.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function modelsFile(home: string, { folder, size }: ColdModel): Promise<string> {
  // A copy, so that no other process has its files open and in memory.
  await cp(folder, join(home, 'source'), { recursive: true });
  const models = {
    models: [
      {
        name: 'cold',
        task: 'diffusion',
        default: true,
        versions: [{ version: '1', source: pathToFileURL(join(home, 'source')).href }],
        defaults: { width: size, height: size, steps: 2, guidance: 1, sampler: 'ddim' },
        samplers: ['ddim'],
      },
    ],
  };
  const path = join(home, 'models.yaml');
  await writeFile(path, JSON.stringify(models));
  return path;
}

type Ask = (method: string, path: string, body?: object) => Promise<unknown>;

/** Rejects when the answer is not of success. */
const asking =
  (url: string): Ask =>
  async (method, path, body) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };

async function startOnce(env: NodeJS.ProcessEnv, ask: Ask, size: number): Promise<Parts> {
  const before = JSON.stringify(await loadOf(ask));
  const worker = spawn(process.execPath, [entry('worker')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const start = await startLine(worker.stdout);
    const input = { prompt: 'a red circle', width: size, height: size, steps: 2 };
    let job = (await ask('POST', '/v1/jobs?wait=60', { type: 'text-to-image', input })) as Job;
    while (job.status === 'queued' || job.status === 'running')
      job = (await ask('GET', `/v1/jobs/${job.id}?wait=60`)) as Job;
    if (job.status !== 'succeeded') throw new Error(`the first job ${job.status}`);
    let load: Load = {};
    // Redis keeps what the worker of the start before has measured.
    await until(async () => {
      load = await loadOf(ask);
      return JSON.stringify(load) !== before;
    });
    const { process: code, connect, pull, open } = start.stages_ms;
    const graphs = load.open ?? 0;
    const warmUp = load['warm-up'] ?? 0;
    return {
      process: code,
      connect,
      pull,
      engine: Math.max(0, open - graphs - warmUp),
      graphs,
      'warm-up': warmUp,
      total: start.total_ms,
      'first-answer': Date.parse(job.finished_at ?? '') - Date.parse(job.started_at ?? ''),
    };
  } finally {
    await ended(worker);
  }
}

interface Job {
  readonly id: string;
  readonly status: string;
  readonly started_at: string | null;
  readonly finished_at: string | null;
}
type Load = Partial<Record<'pull' | 'open' | 'warm-up', number>>;

/** What a worker measured last when it made the model ready; nothing before the first one. */
async function loadOf(ask: Ask): Promise<Load> {
  const { models } = (await ask('GET', '/v1/queues')) as { models: { model: string; load_ms: Load }[] };
  const { pull, open, 'warm-up': warmUp } = models.find(({ model }) => model === REF)?.load_ms ?? {};
  return { pull, open, 'warm-up': warmUp };
}

interface StartLine {
  readonly stages_ms: Readonly<Record<(typeof START_STAGES)[number], number>>;
  readonly total_ms: number;
}

async function startLine(output: NodeJS.ReadableStream): Promise<StartLine> {
  const lines = createInterface({ input: output });
  return new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.includes('"worker started"')) resolve(JSON.parse(line) as StartLine);
    });
    lines.once('close', () => reject(new Error('a worker ended before it served')));
  });
}

/** Writes the files of a folder to the disk and takes them out of the page cache. */
async function forgotten(folder: string): Promise<void> {
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    await promisify(execFile)('sync', [path]);
    await promisify(execFile)('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
  }
}

/** Bytes of all files of a folder. */
export async function bytesOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = files.filter((each) => each.isFile()).map((each) => stat(join(each.parentPath, each.name)));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}

/** Polls: no event tells when the API is ready, or when the worker has reported the times of its model. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
}

async function ended(program: ReturnType<typeof spawn>): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const exit = once(program, 'exit');
  program.kill('SIGTERM');
  await exit;
}
