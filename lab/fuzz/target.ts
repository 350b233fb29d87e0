/** What is attacked: API and worker as they ship, with their own Redis and folder, a probe in the API, and two tenants. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { writeTinyDiffusion } from '../../packages/demo-models/src/index.ts';
import { freePort } from '../../test/support/ports.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import type { ProbeAnswer, ProbeQuestion } from './probe.ts';

const ADMIN_KEY = 'lehr_fuzz_admin_0123456789';
const START_LIMIT_MS = 120_000;
const PROBE_LIMIT_MS = 60_000;
const path = (relativePath: string): string => fileURLToPath(new URL(relativePath, import.meta.url));

/** Low, so that the attacker can use them up when the fuzzer checks that nothing of them leaked. */
export const ATTACKER_LIMITS = { max_jobs: 100, max_streams: 20 };

export interface TargetOptions {
  /** Of the attacker's key. */
  readonly limits?: Readonly<Record<string, number | null>>;
  /** Seconds that a request may be held. Low for the fuzzer, which would take a held request for an unanswered one. */
  readonly holdS?: number;
  /** Whether inputs may be fetched from this machine, and pictures may begin at others. */
  readonly fetchesLocally?: boolean;
}

export interface Target {
  readonly port: number;
  readonly adminKey: string;
  /** Keys of two tenants: one attacks, the other one works as usual. */
  readonly attackerKey: string;
  readonly politeKey: string;
  /** What the API logged as an error, and which program has ended. */
  readonly errors: readonly string[];
  /** What the API logged about its answers of 500 and above, with their causes. */
  readonly serverErrors: readonly string[];
  ask(key: string, method: string, path: string, body?: unknown): Promise<Response>;
  probe(collectsGarbage?: boolean): Promise<ProbeAnswer>;
  close(): Promise<void>;
}

export async function startTarget({
  limits = ATTACKER_LIMITS,
  holdS = 2,
  fetchesLocally = false,
}: TargetOptions = {}): Promise<Target> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-fuzz-'));
  const redis = await startRedis();
  const [port, workerPort] = [await freePort(), await freePort()];
  const env = {
    LEHR_HOME: join(home, 'data'),
    LEHR_MODELS: await modelsIn(home, fetchesLocally),
    LEHR_REDIS_URL: redis.url,
    LEHR_PORT: `${port}`,
    LEHR_WORKER_PORT: `${workerPort}`,
    LEHR_API_KEY: ADMIN_KEY,
    LEHR_DEVICE: 'cpu',
    LEHR_ROW_CAP: '8',
    LEHR_THREADS: '1',
    LEHR_HOLD_S: `${holdS}`,
    ...(fetchesLocally && { LEHR_EGRESS_ALLOW: '*' }),
  };
  const probeFlags = [
    '--expose-gc',
    '--import',
    pathToFileURL(path('../../infra/local/typescript.mjs')).href,
    '--import',
    new URL('./probe.ts', import.meta.url).href,
  ];
  const api = start([...probeFlags, path('../../apps/api/dist/main.js')], env);
  const worker = start([path('../../apps/worker/dist/main.js')], env);
  const errors: string[] = [];
  const serverErrors: string[] = [];
  collectErrors('API', api, errors);
  onLines(api, (line) => {
    if (line.includes('a request was answered with status 5')) serverErrors.push(line.slice(0, 2000));
  });
  collectErrors('worker', worker, errors, false);
  const close = async (): Promise<void> => {
    await Promise.all([stop(api), stop(worker)]);
    await redis.stop();
    await rm(home, { recursive: true, force: true });
  };
  try {
    await Promise.all([port, workerPort].map((each) => ready(`http://127.0.0.1:${each}/readyz`, errors)));
  } catch (error) {
    await close();
    throw error;
  }
  const ask: Target['ask'] = (key, method, target, body) =>
    fetch(`http://127.0.0.1:${port}${target}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    });
  const keyOf = async (tenant: string, more: object): Promise<string> => {
    const response = await ask(ADMIN_KEY, 'POST', '/v1/keys', { tenant, ...more });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    return ((await response.json()) as { key: string }).key;
  };
  return {
    port,
    adminKey: ADMIN_KEY,
    attackerKey: await keyOf('attacker', { limits }),
    politeKey: await keyOf('polite', {}),
    errors,
    serverErrors,
    ask,
    probe: prober(api),
    close,
  };
}

/** A tiny model for pictures, whose adapters and ControlNet the worker cannot open, and the demo model for speech. Returns the path of models.yaml. */
async function modelsIn(home: string, vaeEncoder: boolean): Promise<string> {
  await mkdir(home, { recursive: true });
  await writeTinyDiffusion(join(home, 'tiny'), { seed: 5, timestepType: 'float32', vaeEncoder });
  const ears = relative(home, path('../../packages/demo-models/models/demo-whisper'));
  const file = join(home, 'models.yaml');
  await writeFile(
    file,
    `models:
  - name: tiny
    task: diffusion
    default: true
    versions: [{ version: "1", path: tiny }]
    defaults: { width: 64, height: 64, steps: 4, guidance: 4, sampler: ddim }
    limits: { min_size: 64, max_size: 128, size_step: 8, max_pixels: 12288, max_steps: 20, max_samples: 4 }
    adapters: [{ name: ink, path: nowhere.safetensors }, { name: film, path: nowhere.safetensors }]
    controls: [{ name: edges, path: nowhere, preprocess: canny }]
  - name: ears
    task: whisper
    versions: [{ version: "1", path: ${ears} }]
    limits: { max_audio_s: 60 }
`,
  );
  return file;
}

function start(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'));
  return spawn(process.execPath, args, {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** Lines of level error; of a worker only its end, because a job may fail there. */
function collectErrors(name: string, child: ChildProcess, errors: string[], withLines = true): void {
  onLines(child, (line) => {
    if (withLines && !/^\{"level":"(?:trace|debug|info|warn)"/.test(line)) errors.push(line.slice(0, 2000));
  });
  child.once('exit', (code, signal) => errors.push(`the ${name} ended: ${signal ?? code}`));
}

function onLines({ stdout, stderr }: ChildProcess, take: (line: string) => void): void {
  for (const stream of [stdout, stderr]) {
    if (stream) createInterface(stream).on('line', take);
  }
}

function prober(api: ChildProcess): Target['probe'] {
  let lastId = 0;
  return async (collectsGarbage = false) => {
    lastId += 1;
    const question: ProbeQuestion = { id: lastId, collectsGarbage };
    const signal = AbortSignal.timeout(PROBE_LIMIT_MS);
    const answered = once(api, 'message', { signal }) as Promise<[ProbeAnswer]>;
    api.send(question);
    const [answer] = await answered;
    return answer;
  };
}

/** Rejects when a program has ended or takes too long. */
async function ready(url: string, errors: readonly string[]): Promise<void> {
  const endsAt = performance.now() + START_LIMIT_MS;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) return;
    if (performance.now() > endsAt || errors.length > 0) {
      throw new Error([`${url} does not become ready`, ...errors].join('\n'));
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const kill = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await exit;
  clearTimeout(kill);
}
