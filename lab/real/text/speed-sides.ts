/** Programs that run a text model, each in its own process and with two threads, behind one interface. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Durability, TextJobType } from '../../../packages/shared/src/index.ts';
import { startWholeLehr } from '../../bench/whole-lehr.ts';
import type { Bench } from '../section.ts';

export const THREADS = 2;
export const CALLERS = 32;

export interface CrowdOptions {
  /** CALLERS by default. */
  readonly callers?: number;
  /** Texts of a call; 1 by default. */
  readonly perCall?: number;
}

export interface Side {
  readonly name: string;
  /** One text after the other; the milliseconds of each. */
  alone(texts: readonly string[]): Promise<readonly number[]>;
  /** By callers with a call each, or, in a program that takes no calls, in batches of CALLERS. The seconds of all. */
  crowd(texts: readonly string[], how?: CrowdOptions): Promise<number>;
  /** Calls of one text each that come in a Poisson process, whether or not earlier ones have ended; the milliseconds of each. */
  arriving(texts: readonly string[], perSecond: number): Promise<readonly number[]>;
  close(): Promise<void>;
}

export interface TextModelOfSide {
  readonly folder: string;
  readonly type: Extract<TextJobType, 'text-embedding' | 'fill-mask'>;
}

/** Calls that warm up a server: the first thousands cost half as much again, until what they run is compiled. */
const WARM_UP_CALLS = 4000;

/** A side that is asked by calls; it is returned warm. */
async function byCalls(
  name: string,
  ask: (texts: readonly string[]) => Promise<unknown>,
  close: () => Promise<void>,
): Promise<Side> {
  const timed = async (text: string): Promise<number> => {
    const startedAt = performance.now();
    await ask([text]);
    return performance.now() - startedAt;
  };
  const crowd = async (texts: readonly string[], { callers = CALLERS, perCall = 1 }: CrowdOptions = {}) => {
    const calls = Array.from({ length: Math.ceil(texts.length / perCall) }, (_, i) =>
      texts.slice(i * perCall, (i + 1) * perCall),
    );
    const startedAt = performance.now();
    // All callers take from one iterator.
    const left = calls.values();
    const caller = async () => {
      for (const call of left) await ask(call);
    };
    await Promise.all(Array.from({ length: callers }, caller));
    return (performance.now() - startedAt) / 1000;
  };
  const alone = async (texts: readonly string[]) => {
    const taken: number[] = [];
    for (const text of texts) taken.push(await timed(text));
    return taken;
  };
  const arriving = async (texts: readonly string[], perSecond: number) => {
    const taken: Promise<number>[] = [];
    let due = performance.now();
    for (const text of texts) {
      due += (-Math.log(1 - Math.random()) / perSecond) * 1000;
      const wait = due - performance.now();
      if (wait > 0) await sleep(wait);
      taken.push(timed(text));
    }
    return Promise.all(taken);
  };
  await crowd(Array.from({ length: WARM_UP_CALLS }, (_, i) => `a red circle [MASK] ${i}`));
  return { name, alone, crowd, arriving, close };
}

export const WITHOUT_RECORD = 'Lehr without a record';

/** API, Redis, worker and engine; `durability` as in a request. */
export async function lehrSide(
  { folder, type }: TextModelOfSide,
  durability: Durability = 'stored',
): Promise<Side> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-real-'));
  const models = join(home, 'models.yaml');
  // Of a models.yaml, paths are relative to its folder.
  const path = relative(home, folder);
  const model = `{ name: reader, task: text, tasks: [${type}], versions: [{ version: "1", path: ${path} }] }`;
  await writeFile(models, `models:\n  - ${model}\n`);
  const lehr = await startWholeLehr({
    LEHR_MODELS: models,
    LEHR_TASKS: 'text',
    LEHR_DEVICE: 'cpu',
    LEHR_THREADS: `${THREADS}`,
  });
  const close = async () => {
    await lehr.close();
    await rm(home, { recursive: true, force: true });
  };
  const name = durability === 'none' ? WITHOUT_RECORD : 'Lehr';
  return byCalls(name, (texts) => lehr.run(type, { texts }, { durability }), close);
}

export async function pipelineServerSide(bench: Bench, { folder, type }: TextModelOfSide): Promise<Side> {
  const python = await bench.openPython('lab/real/text/pipeline_server.py', {
    args: [folder, type === 'fill-mask' ? type : 'embeddings', `${THREADS}`],
  });
  const { port } = await python.ask<{ port: number }>({ do: 'port' });
  const ask = async ([body]: readonly string[]): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
    if (!response.ok) throw new Error(`the pipeline server answers ${response.status}`);
    return response.json();
  };
  return byCalls('pipeline server', ask, () => python.close());
}

interface InProcess {
  ask(request: object): Promise<readonly number[]>;
  close(): Promise<void>;
}

const byBatches = (name: string, { ask, close }: InProcess): Side => ({
  name,
  alone: (texts) => ask({ alone: texts }),
  crowd: async (texts) => {
    const [ms] = await ask({ together: texts, batch: CALLERS });
    return ms / 1000;
  },
  arriving: () => Promise.reject(new Error(`${name} takes no calls.`)),
  close,
});

export async function sentenceTransformersSide(bench: Bench, folder: string): Promise<Side> {
  const python = await bench.openPython('lab/real/text/sentence_onnx.py', { args: [folder, `${THREADS}`] });
  return byBatches('sentence-transformers, ONNX', {
    ask: (request) => python.ask(request),
    close: () => python.close(),
  });
}

const SCRIPT = new URL('./transformers-js.ts', import.meta.url).pathname;

export async function transformersJsSide(folder: string): Promise<Side> {
  const args = [...process.execArgv, SCRIPT, folder, `${THREADS}`];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const exit = once(child, 'close');
  return byBatches('transformers.js', {
    ask: async (request) => {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      const { done, value } = await lines.next();
      if (done) throw new Error('transformers-js.ts ended without an answer; its output is above.');
      return (JSON.parse(value) as { answer: number[] }).answer;
    },
    close: async () => {
      child.stdin.end();
      await exit;
    },
  });
}
