/** Programs that run a text model, each in its own process and with two threads, behind one interface. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { TextJobType } from '../../../packages/shared/src/index.ts';
import { startWholeLehr } from '../../bench/whole-lehr.ts';
import type { Bench } from '../section.ts';

export const THREADS = 2;
export const CALLERS = 32;

export interface Side {
  readonly name: string;
  /** One text after the other; the milliseconds of each. */
  alone(texts: readonly string[]): Promise<readonly number[]>;
  /** By CALLERS callers with a text each, or, in a program that takes no calls, in batches of CALLERS. The seconds of all. */
  crowd(texts: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export interface TextModelOfSide {
  readonly folder: string;
  readonly type: Extract<TextJobType, 'text-embedding' | 'fill-mask'>;
}

/** A side that is asked with one call for each text. */
const bySingleCalls = (
  name: string,
  ask: (text: string) => Promise<unknown>,
  close: () => Promise<void>,
): Side => ({
  name,
  alone: async (texts) => {
    const taken: number[] = [];
    for (const text of texts) {
      const startedAt = performance.now();
      await ask(text);
      taken.push(performance.now() - startedAt);
    }
    return taken;
  },
  crowd: async (texts) => {
    const startedAt = performance.now();
    // All callers take from one iterator.
    const left = texts.values();
    const caller = async () => {
      for (const text of left) await ask(text);
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    return (performance.now() - startedAt) / 1000;
  },
  close,
});

/** API, Redis, worker and engine. */
export async function lehrSide({ folder, type }: TextModelOfSide): Promise<Side> {
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
  return bySingleCalls('Lehr', (text) => lehr.run(type, { texts: [text] }), close);
}

export async function pipelineServerSide(bench: Bench, { folder, type }: TextModelOfSide): Promise<Side> {
  const python = await bench.openPython('test/real/text/pipeline_server.py', {
    args: [folder, type === 'fill-mask' ? type : 'embeddings', `${THREADS}`],
  });
  const { port } = await python.ask<{ port: number }>({ do: 'port' });
  const ask = async (body: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body });
    if (!response.ok) throw new Error(`the pipeline server answers ${response.status}`);
    return response.json();
  };
  return bySingleCalls('pipeline server', ask, () => python.close());
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
  close,
});

export async function sentenceTransformersSide(bench: Bench, folder: string): Promise<Side> {
  const python = await bench.openPython('test/real/text/sentence_onnx.py', { args: [folder, `${THREADS}`] });
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
