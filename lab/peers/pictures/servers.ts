/** The servers that are compared: all of Lehr, and programs of Python with the same graphs. Each answers a drawing with a PNG. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../test/support/ports.ts';
import { startWholeLehr } from '../../bench/whole-lehr.ts';
import { cpuSeconds, ownCpuSeconds } from '../cpu.ts';
import type { Draw, Drawing } from './load.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const FOLDER = join(ROOT, 'lab/peers/pictures');
const START_LIMIT_MS = 180_000;
/** Of onnxruntime, in every server. */
export const THREADS = 2;

export interface Server {
  readonly name: string;
  readonly draw: Draw;
  /** CPU seconds since the start, of all its processes. */
  cpuSeconds(): number;
  /** The same by part, where that is known. */
  cpuParts?(): Readonly<Record<string, number>>;
  /** Stops its processes while another server is measured, and resumes them. Some poll their queues when they are idle. */
  pause(): unknown;
  resume(): unknown;
  close(): Promise<void>;
}

export interface Model {
  readonly name: string;
  readonly folder: string;
  /** Width and height of its pictures. */
  readonly side: number;
}

/** API, worker, Redis with its log, and store. Pictures go through POST /t2i. */
export async function startLehr({ name, folder, side }: Model): Promise<Server> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-peers-'));
  const file = join(home, 'models.yaml');
  await writeFile(
    file,
    `models:
  - name: ${name}
    task: diffusion
    default: true
    versions: [{ version: "1", path: ${folder} }]
    defaults: { width: ${side}, height: ${side}, steps: 10, guidance: 3, sampler: euler }
    limits: { min_size: 64, max_size: 512, size_step: 64, max_pixels: 262144 }
`,
  );
  const lehr = await startWholeLehr({
    LEHR_MODELS: file,
    LEHR_TASKS: 'diffusion',
    LEHR_DEVICE: 'cpu',
    LEHR_THREADS: `${THREADS}`,
    LEHR_HOLD_S: '280',
    LEHR_MAX_WAIT_S: '100000',
  });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${lehr.key}` };
  return {
    name: 'Lehr',
    draw: async (drawing) => bytesOf(await post(`${lehr.url}/t2i`, drawing, headers)),
    cpuSeconds: () => cpuSeconds([...lehr.pids, lehr.redisPid]),
    cpuParts: () => {
      const [api, worker] = lehr.pids;
      const parent = ownCpuSeconds(worker);
      const engine = cpuSeconds([worker]) - parent;
      return {
        engine,
        'worker without engine': parent,
        API: cpuSeconds([api]),
        Redis: cpuSeconds([lehr.redisPid]),
      };
    },
    // Its leases would expire. It only waits.
    pause: () => {},
    resume: () => {},
    close: async () => {
      await lehr.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface Peer {
  readonly name: string;
  /** Of the virtual environment. */
  readonly environment: string;
  /** Arguments of the interpreter. */
  readonly args: (port: number) => readonly string[];
  /** False for a server whose processes watch each other and would take a pause for a death. */
  readonly mayPause?: boolean;
  /** The picture of an answer; its bytes when absent. */
  readonly body?: (drawing: Drawing) => unknown;
  readonly read?: (answer: Response) => Promise<Uint8Array>;
}

export const PEERS: readonly Peer[] = [
  {
    name: 'FastAPI, micro-batcher of 500 ms',
    environment: 'peers/fastapi',
    args: () => [join(FOLDER, 'fastapi_server.py')],
  },
  { name: 'LitServe', environment: 'peers/litserve', args: () => [join(FOLDER, 'litserve_server.py')] },
  {
    name: 'Ray Serve',
    environment: 'peers/ray',
    args: () => [join(FOLDER, 'ray_server.py')],
    mayPause: false,
  },
  {
    name: 'BentoML',
    environment: 'peers/bentoml',
    args: (port) => [
      '-m',
      'bentoml',
      'serve',
      'bentoml_server:Draw',
      '--port',
      `${port}`,
      '--host',
      '127.0.0.1',
    ],
    body: (drawing) => ({ pictures: [drawing] }),
    read: async (answer) => Uint8Array.from(Buffer.from(((await answer.json()) as string[])[0], 'base64')),
  },
];

/** Resolves when the server has drawn a picture. `cache` has the environments. */
export async function startPeer(peer: Peer, model: Model, cache: string): Promise<Server> {
  const port = await freePort();
  const home = join(cache, `${peer.environment}-home`);
  await mkdir(home, { recursive: true });
  const child = spawn(join(cache, peer.environment, 'bin/python'), peer.args(port), {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
    // A group, because some of them leave children behind.
    detached: true,
    env: {
      ...process.env,
      PORT: `${port}`,
      MODEL: model.folder,
      SIDE: `${model.side}`,
      THREADS: `${THREADS}`,
      // As in Lehr's engine.
      SPIN: '0',
      PYTHONPATH: FOLDER,
      PYTHONWARNINGS: 'ignore',
      ORT_DISABLE_TELEMETRY: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      PATH: `${join(cache, peer.environment, 'bin')}:${process.env.PATH}`,
      BENTOML_HOME: home,
      BENTOML_DO_NOT_TRACK: 'true',
      RAY_USAGE_STATS_ENABLED: '0',
      // 15 by default: on a shared machine its replica would get less time than the others.
      RAY_worker_niceness: '0',
    },
  });
  // A detached group outlives a parent that is interrupted.
  process.once('exit', () => signalGroup(child, 'SIGKILL'));
  const { name, body = (drawing) => drawing, read = bytesOf, mayPause = true } = peer;
  const headers = { 'content-type': 'application/json' };
  const draw: Draw = async (drawing) =>
    read(await post(`http://127.0.0.1:${port}/t2i`, body(drawing), headers));
  const close = (): Promise<void> => {
    signalGroup(child, 'SIGCONT');
    return stop(child);
  };
  try {
    await firstPicture(child, draw, model.side);
  } catch (error) {
    await close();
    throw new Error(`${name} does not answer`, { cause: error });
  }
  return {
    name,
    draw,
    cpuSeconds: () => cpuSeconds([child.pid ?? 0]),
    pause: () => mayPause && signalGroup(child, 'SIGSTOP'),
    resume: () => mayPause && signalGroup(child, 'SIGCONT'),
    close,
  };
}

async function firstPicture(child: ChildProcess, draw: Draw, side: number): Promise<void> {
  const drawing = {
    prompt: 'warm up',
    width: side,
    height: side,
    inference_steps: 2,
    guidance_scale: 3,
    seed: 1,
  };
  const endsAt = performance.now() + START_LIMIT_MS;
  for (;;) {
    try {
      await draw(drawing);
      return;
    } catch (error) {
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (hasEnded || performance.now() > endsAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 30_000);
    await exit;
    clearTimeout(timer);
  }
  signalGroup(child, 'SIGKILL');
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // All of the group have ended.
  }
}

async function post(url: string, body: unknown, headers: Record<string, string>): Promise<Response> {
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${(await answer.text()).slice(0, 300)}`);
  return answer;
}

const bytesOf = async (answer: Response): Promise<Uint8Array> => new Uint8Array(await answer.arrayBuffer());
