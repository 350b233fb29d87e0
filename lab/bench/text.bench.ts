/**
 * One short text whose caller waits for the answer, one after the other: what all of Lehr adds to the time that the graph takes alone, where
 * that time goes, and the CPU time of each process. The client's own work and HTTP are in it.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import { openTextModel } from '../../apps/worker/src/engine/text/folder/text-folder.ts';
import type { Job } from '../../packages/shared/src/index.ts';
import type { Chart } from './charts.ts';
import { percentile, type SampledFigure } from './harness.ts';
import { differenceOf, type ProcessCpu, readCpu } from './process-cpu.ts';
import { startWholeLehr } from './whole-lehr.ts';

const FOLDER = fileURLToPath(new URL('../../packages/demo-models/models/demo-text', import.meta.url));
/** 16 tokens with those at both ends. */
const TEXT = 'a [MASK] on a red blue green circle square triangle large small left right';
const THREADS = 2;
/** The first thousands of calls cost half as much again, until what they run is compiled. */
const WARM_UP = 3000;
const ROUNDS = 5;
const CALLS = 100;

/** Ms of a call by part, in the order in which a text passes them. */
interface Parts {
  readonly queued: number;
  readonly tokenize: number;
  readonly run: number;
  readonly rest: number;
}

interface Measured {
  /** Ms of each call less the median of the graph in the same round. */
  readonly added: readonly number[];
  readonly parts: Parts;
  readonly cpu: ProcessCpu;
}

let measured: Promise<Measured> | undefined;

async function graphMs(model: Awaited<ReturnType<typeof openTextModel>>): Promise<number> {
  const outputs = [...new Set(Object.values(model.reading.outputs))];
  const encoded = model.tokenizer.encode(TEXT, { mayTruncate: false });
  const taken: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await model.graph.run([encoded], outputs);
    taken.push(performance.now() - startedAt);
  }
  return percentile(taken, 50);
}

async function measure(): Promise<Measured> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-bench-'));
  const file = join(home, 'models.yaml');
  // Of a models.yaml, paths are relative to its folder.
  const path = relative(home, FOLDER);
  await writeFile(
    file,
    `models:\n  - { name: reader, task: text, tasks: [fill-mask], versions: [{ version: "1", path: ${path} }] }\n`,
  );
  const model = await openTextModel(FOLDER, onnxRuntime, { providers: ['cpu'], threads: THREADS });
  const lehr = await startWholeLehr({
    LEHR_MODELS: file,
    LEHR_TASKS: 'text',
    LEHR_DEVICE: 'cpu',
    LEHR_THREADS: `${THREADS}`,
  });
  const call = (): Promise<Job> => lehr.run('fill-mask', { texts: [TEXT] });
  const [added, all, cpus]: [number[], { ms: number; job: Job }[], ProcessCpu[]] = [[], [], []];
  try {
    for (let i = 0; i < WARM_UP; i++) await call();
    for (let round = 0; round < ROUNDS; round++) {
      const graph = await graphMs(model);
      const before = readCpu(lehr);
      for (let i = 0; i < CALLS; i++) {
        const startedAt = performance.now();
        const job = await call();
        const ms = performance.now() - startedAt;
        added.push(ms - graph);
        all.push({ ms, job });
      }
      cpus.push(differenceOf(before, readCpu(lehr), CALLS));
    }
  } finally {
    await lehr.close();
    await model.close();
    await rm(home, { recursive: true, force: true });
  }
  const parts = all.map(partsOf);
  const median = (part: keyof Parts): number =>
    percentile(
      parts.map((each) => each[part]),
      50,
    );
  const cpu = (part: keyof ProcessCpu): number =>
    percentile(
      cpus.map((each) => each[part]),
      50,
    );
  return {
    added,
    parts: {
      queued: median('queued'),
      tokenize: median('tokenize'),
      run: median('run'),
      rest: median('rest'),
    },
    cpu: {
      api: cpu('api'),
      parent: cpu('parent'),
      encoder: cpu('encoder'),
      engine: cpu('engine'),
      redis: cpu('redis'),
    },
  };
}

function partsOf({ ms, job }: { readonly ms: number; readonly job: Job }): Parts {
  const timings = job.metrics?.timings;
  if (!timings || !('tokenize' in timings)) throw new Error('the job has no timings of a text');
  const { queued, tokenize, wait, run, store } = timings;
  return { queued, tokenize: tokenize + wait, run, rest: ms - queued - tokenize - wait - run - store };
}

export const figures: readonly SampledFigure[] = [
  {
    kind: 'sampled',
    name: "one text of 16 tokens, held, with a record: what Lehr adds to the graph's own time, median",
    unit: 'ms',
    percentile: 50,
    target: { atMost: 4 },
    open: async () => ({
      samples: async () => {
        measured ??= measure();
        return (await measured).added;
      },
      close: async () => {},
    }),
  },
];

export async function charts(): Promise<Chart[]> {
  const result = await measured;
  if (!result) return [];
  const { parts, cpu } = result;
  return [
    {
      part: 'waits',
      kind: 'stack',
      title: 'One held text, from the request to the answer',
      about: `The median of ${ROUNDS * CALLS} calls, one after the other. The rest is HTTP in client and API, admission, the end of the record and the way back.`,
      x: { label: 'ms' },
      bars: [
        {
          name: 'a text',
          parts: [
            { name: 'in the queue', value: parts.queued },
            { name: 'tokens and turn', value: parts.tokenize },
            { name: 'run, with the messages to the engine', value: parts.run },
            { name: 'rest', value: parts.rest },
          ],
        },
      ],
    },
    {
      part: 'waits',
      kind: 'stack',
      title: 'CPU time of one held text',
      about: 'By process, of the same calls; the client is not in it.',
      x: { label: 'CPU ms' },
      bars: [
        {
          name: 'a text',
          parts: [
            { name: 'API', value: cpu.api },
            { name: 'Redis', value: cpu.redis },
            { name: 'worker', value: cpu.parent + cpu.encoder },
            { name: 'engine', value: cpu.engine },
          ],
        },
      ],
    },
  ];
}
