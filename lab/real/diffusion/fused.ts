/** Graphs with fused attentions beside the same graphs as exported: time, memory and outputs. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import { converse, type PythonProgram } from '../python.ts';
import type { Bench, Row } from '../section.ts';
import { fullSize, once } from './full-size.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const SCRIPT = 'lab/real/diffusion/run-graph.ts';
/** Of each order. */
const ROUNDS = 2;
const FORMS = ['fused', 'exported'] as const;
type Form = (typeof FORMS)[number];
type Programs = ReadonlyMap<Form, PythonProgram>;

/** What a graph is run with. */
interface Load {
  /** The inputs, in words. */
  readonly what: string;
  /** Dimensions of the inputs by their names; the others have one value. */
  readonly dims: Readonly<Record<string, readonly number[]>>;
  /** Runs that are timed together. */
  readonly runs: number;
  /** Largest share of the exported graph's time that is wanted. */
  readonly atMost: number;
  /** The same for the memory; without it the memory is not compared. */
  readonly memoryAtMost?: number;
}

interface Opened {
  readonly seconds: number;
  readonly cpu_seconds: number;
  /** Attentions that are fused. */
  readonly fused: number;
}

interface Run {
  readonly seconds: number;
  readonly cpu_seconds: number;
  /** Resident memory at its largest since the first run, less that of the opened graph. */
  readonly working_bytes: number;
  /** From the exported one's output, as a share of its largest value. */
  readonly difference: number;
}

/** Stable Diffusion 1.5 with its full width. */
export async function fusedUnet(bench: Bench): Promise<readonly Row[]> {
  const dims = { sample: [2, 4, 64, 64], encoder_hidden_states: [2, 77, 768] };
  const load = { what: '512x512, two rows', dims, runs: 1, atMost: 0.88, memoryAtMost: 0.55 };
  return beside(join(await fullSize(bench, 'sd15'), 'onnx/unet/model.onnx'), load, bench);
}

/** SDXL at three tenths of its width. */
export async function fusedXl(bench: Bench): Promise<readonly Row[]> {
  const unet = join(await fullSize(bench, 'sdxl'), 'onnx/unet/model.onnx');
  const loads = [
    { size: 512, atMost: 0.88 },
    { size: 1024, atMost: 0.8 },
  ];
  const rows: Row[] = [];
  for (const { size, atMost } of loads) {
    const dims = {
      sample: [2, 4, size / 8, size / 8],
      encoder_hidden_states: [2, 77, 512],
      text_embeds: [2, 320],
      time_ids: [2, 6],
    };
    const load = { what: `${size}x${size}, two rows`, dims, runs: 1, atMost, memoryAtMost: 0.55 };
    rows.push(...(await beside(unet, load, bench)));
  }
  return rows;
}

/** The encoder of Whisper base, and text models of the sizes of MiniLM and BERT-base; random weights. */
export async function fusedOthers(bench: Bench): Promise<readonly Row[]> {
  const folder = join(bench.cache, 'full/others');
  const script = 'lab/real/diffusion/other_graphs.py';
  await once(folder, 'exporting Whisper base, MiniLM and BERT-base', { export: folder }, bench, script);
  const rows: Row[] = [];
  for (const windows of [1, 4]) {
    const dims = { input_features: [windows, 80, 3000] };
    const load = { what: `Whisper base, windows of 30 s: ${windows}`, dims, runs: 2, atMost: 0.9 };
    rows.push(...(await beside(join(folder, 'whisper/encoder_model.onnx'), load, bench)));
  }
  for (const [name, runs] of [
    ['MiniLM', 128],
    ['BERT-base', 16],
  ] as const) {
    for (const tokens of [16, 128]) {
      const ids = [8, tokens];
      const dims = { input_ids: ids, attention_mask: ids, token_type_ids: ids };
      const load = {
        what: `${name}, 8 texts of ${tokens} tokens`,
        dims,
        runs: (runs * 16) / tokens,
        atMost: 0.85,
      };
      rows.push(...(await beside(join(folder, name, 'model.onnx'), load, bench)));
    }
  }
  return rows;
}

/**
 * Both programs are opened in one order and then in the other: a graph that is opened first was seen to run up to a tenth slower, whichever
 * form it had.
 */
async function beside(graph: string, load: Load, bench: Bench): Promise<readonly Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-fused-'));
  const output = join(folder, 'output.f32');
  const opened: Record<Form, Opened[]> = { fused: [], exported: [] };
  const taken: Record<Form, Run[]> = { fused: [], exported: [] };
  try {
    for (const order of [FORMS, FORMS.toReversed()]) {
      const programs = new Map<Form, PythonProgram>();
      try {
        // One after the other: each may read gigabytes.
        for (const form of order) {
          const program = openGraph(graph, form, load);
          programs.set(form, program);
          opened[form].push(await program.ask<Opened>({}));
        }
        await run(programs, load, output, { taken, bench });
      } finally {
        for (const program of programs.values()) await program.close();
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return [...rowsOf(load, taken), openingRow(load, opened)];
}

function openGraph(graph: string, form: Form, { dims }: Load): PythonProgram {
  const source = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];
  const args = [...source, join(ROOT, SCRIPT), graph, form, JSON.stringify(dims)];
  return converse(spawn(process.execPath, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] }), SCRIPT);
}

async function run(
  programs: Programs,
  { what, runs }: Load,
  output: string,
  { taken, bench }: { taken: Record<Form, Run[]>; bench: Bench },
): Promise<void> {
  const ask = <T>(form: Form, request: object): Promise<T> => {
    const program = programs.get(form);
    if (!program) throw new Error(`no program for ${form}`);
    return program.ask<T>(request);
  };
  await ask('exported', { keep: output });
  const times = await interleaved(FORMS, ROUNDS, async (form) => {
    const one = await ask<Run>(form, { compare: output, runs });
    bench.say(`${what}, ${form}: ${one.seconds.toFixed(2)} s, ${one.cpu_seconds.toFixed(2)} s of CPU time`);
    taken[form].push(one);
    return one.seconds;
  });
  // The first round warms up.
  for (const { side } of times) taken[side].splice(-ROUNDS - 1, 1);
}

function rowsOf({ what, runs, atMost, memoryAtMost }: Load, taken: Record<Form, Run[]>): readonly Row[] {
  const of = (form: Form, field: keyof Run, share: number): number[] =>
    taken[form].map((one) => one[field] / share);
  const row = (name: string, field: keyof Run, unit: string, wanted: number, share = 1): Row =>
    ratioRow(`${what}: ${name}`, of('fused', field, share), of('exported', field, share), {
      unit,
      atMost: wanted,
    });
  const difference = Math.max(...of('fused', 'difference', 1));
  return [
    row('CPU time of a run', 'cpu_seconds', 's', atMost, runs),
    row('a run', 'seconds', 's', atMost, runs),
    ...(memoryAtMost === undefined
      ? []
      : [row('memory that a run needs beside the weights', 'working_bytes', 'bytes', memoryAtMost)]),
    {
      what: `${what}: largest difference of the outputs, as a share of the largest value`,
      figure: difference,
      wanted: '<= 0.00001',
      met: difference <= 1e-5,
    },
  ];
}

function openingRow({ what }: Load, opened: Record<Form, Opened[]>): Row {
  const seconds = (form: Form): number[] => opened[form].map((one) => one.cpu_seconds);
  const name = `${what}: opening the graph and fusing ${opened.fused[0].fused} attentions, CPU time`;
  return ratioRow(name, seconds('fused'), seconds('exported'), { unit: 's', atMost: 1.1 });
}
