/** API and worker from the build, with their own Redis and folder, for benches of all of Lehr. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Job, JobType, SamplerName } from '../../packages/shared/src/index.ts';
import { freePort } from '../../test/support/ports.ts';
import { FSYNC_EVERY_SECOND, startRedis } from '../../test/support/redis-server.ts';

const KEY = 'lehr_bench_key_0123456789';
/** Long: a machine that is busy with something else starts the engine slowly. */
const START_LIMIT_MS = 600_000;

export interface Picture {
  readonly prompt: string;
  readonly steps: number;
  readonly guidance: number;
  readonly seed: number;
  readonly width: number;
  readonly height: number;
  /** The model's default when absent. */
  readonly sampler?: SamplerName;
}

export interface WholeLehr {
  /** Posts the jobs at once and waits for all of them; returns the milliseconds from the first request to the end of the last job. */
  draw(pictures: readonly Picture[]): Promise<number>;
  /** Draws the pictures as jobs posted at once; returns their files (PNG), in order. */
  files(pictures: readonly Picture[]): Promise<Uint8Array[]>;
  /** Posts a job, with `fields` beside its input, and waits for its end. Throws when it did not succeed. */
  run(type: JobType, input: object, fields?: Readonly<Record<string, unknown>>): Promise<Job>;
  /** Uploads a file and returns its link, for the input of a job. */
  upload(bytes: Uint8Array): Promise<string>;
  /** Process ids of the API and the worker. */
  readonly pids: readonly number[];
  readonly redisPid: number;
  /** Where the API listens, and its key, for other programs that call it. */
  readonly url: string;
  readonly key: string;
  /** Where the worker serves its metrics. */
  readonly workerUrl: string;
  close(): Promise<void>;
}

/** Both programs get `env`. Resolves when both are ready. */
export async function startWholeLehr(env: Readonly<Record<string, string>>): Promise<WholeLehr> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-bench-'));
  const redis = await startRedis(FSYNC_EVERY_SECOND);
  const [port, workerPort] = [await freePort(), await freePort()];
  const shared = {
    ...process.env,
    LEHR_HOME: home,
    LEHR_REDIS_URL: redis.url,
    LEHR_PORT: `${port}`,
    LEHR_WORKER_PORT: `${workerPort}`,
    LEHR_API_KEY: KEY,
    LEHR_LOG_LEVEL: 'error',
    ...env,
  };
  const programs = (['api', 'worker'] as const).map((name) => {
    const entry = fileURLToPath(new URL(`../../apps/${name}/dist/main.js`, import.meta.url));
    return spawn(process.execPath, [entry], { env: shared, stdio: ['ignore', 'ignore', 'inherit'] });
  });
  const close = async (): Promise<void> => {
    await Promise.all(programs.map(stop));
    await redis.stop();
    await rm(home, { recursive: true, force: true });
  };
  try {
    await Promise.all([port, workerPort].map((each) => ready(`http://127.0.0.1:${each}/readyz`)));
  } catch (error) {
    await close();
    throw error;
  }
  const url = `http://127.0.0.1:${port}`;
  const run: WholeLehr['run'] = async (type, input, fields) => {
    let job = await ask('POST', `${url}/v1/jobs?wait=60`, { type, input, ...fields });
    while (job.status === 'queued' || job.status === 'running')
      job = await ask('GET', `${url}/v1/jobs/${job.id}?wait=60`);
    if (job.status !== 'succeeded') throw new Error(`a bench job ${job.status}: ${JSON.stringify(job)}`);
    return job;
  };
  const drawOne = (input: Picture): Promise<Job> => run('text-to-image', input);
  return {
    run,
    upload: (bytes) => upload(url, bytes),
    pids: programs.flatMap(({ pid }) => pid ?? []),
    redisPid: redis.pid,
    url,
    key: KEY,
    workerUrl: `http://127.0.0.1:${workerPort}`,
    draw: async (pictures) => {
      const startedAt = performance.now();
      await Promise.all(pictures.map(drawOne));
      return performance.now() - startedAt;
    },
    files: (pictures) =>
      Promise.all(
        pictures.map(async (picture) => {
          const { output } = await drawOne(picture);
          const response = await fetch(output?.images?.[0].url ?? '');
          if (!response.ok) throw new Error(`a picture's link answers ${response.status}`);
          return new Uint8Array(await response.arrayBuffer());
        }),
      ),
    close,
  };
}

async function ask(method: string, url: string, body?: unknown): Promise<Job> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as Job;
}

async function upload(url: string, bytes: Uint8Array): Promise<string> {
  const body = new FormData();
  body.set('content', new Blob([new Uint8Array(bytes)]), 'audio.wav');
  const headers = { authorization: `Bearer ${KEY}` };
  const response = await fetch(`${url}/v1/files`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return ((await response.json()) as { urls: { get: string } }).urls.get;
}

export async function ready(url: string): Promise<void> {
  const giveUpAt = performance.now() + START_LIMIT_MS;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    if (performance.now() > giveUpAt) throw new Error(`${url} does not become ready`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function stop(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const exit = once(program, 'exit');
  program.kill('SIGTERM');
  await exit;
}
