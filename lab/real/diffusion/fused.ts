/** A UNet of full size with fused attentions beside the same UNet as exported: time, memory and predictions. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import { converse, type PythonProgram } from '../python.ts';
import type { Bench, Row } from '../section.ts';
import { fullSize } from './full-size.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const SCRIPT = 'lab/real/diffusion/run-unet.ts';
const ROUNDS = 3;
const FORMS = ['fused', 'exported'] as const;
type Form = (typeof FORMS)[number];

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
  /** From the exported one's prediction, as a share of its largest value. */
  readonly difference: number;
}

export async function fused(bench: Bench): Promise<readonly Row[]> {
  const unet = join(await fullSize(bench, 'sd15'), 'onnx/unet/model.onnx');
  const folder = await mkdtemp(join(tmpdir(), 'lehr-fused-'));
  const programs = new Map<Form, PythonProgram>();
  const opened = new Map<Form, Opened>();
  try {
    // One after the other: each reads 3.4 GB.
    for (const form of FORMS) {
      const program = openUnet(unet, form);
      programs.set(form, program);
      opened.set(form, await program.ask<Opened>({}));
    }
    const rows = await compare(programs, join(folder, 'prediction.f32'), bench);
    return [...rows, openingRow(opened)];
  } finally {
    for (const program of programs.values()) await program.close();
    await rm(folder, { recursive: true });
  }
}

function openUnet(unet: string, form: Form): PythonProgram {
  const source = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];
  const args = [...source, join(ROOT, SCRIPT), unet, form];
  return converse(spawn(process.execPath, args, { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] }), SCRIPT);
}

async function compare(
  programs: ReadonlyMap<Form, PythonProgram>,
  prediction: string,
  bench: Bench,
): Promise<readonly Row[]> {
  const ask = <T>(form: Form, request: object): Promise<T> => {
    const program = programs.get(form);
    if (!program) throw new Error(`no program for ${form}`);
    return program.ask<T>(request);
  };
  await ask('exported', { keep: prediction });
  const taken: Record<Form, Run[]> = { fused: [], exported: [] };
  await interleaved(FORMS, ROUNDS, async (form) => {
    const run = await ask<Run>(form, { compare: prediction });
    bench.say(`${form}: ${run.seconds.toFixed(1)} s, ${run.cpu_seconds.toFixed(1)} s of CPU time`);
    taken[form].push(run);
    return run.seconds;
  });
  // The first round warms up.
  const of = (form: Form, field: keyof Run): number[] => taken[form].slice(1).map((run) => run[field]);
  const row = (what: string, field: keyof Run, unit: string, atMost: number): Row =>
    ratioRow(`512x512, two rows: ${what}`, of('fused', field), of('exported', field), { unit, atMost });
  const difference = Math.max(...of('fused', 'difference'));
  return [
    row('CPU time of a step', 'cpu_seconds', 's', 0.88),
    row('a step', 'seconds', 's', 0.88),
    row('memory that a step needs beside the weights', 'working_bytes', 'bytes', 0.55),
    {
      what: 'Largest difference of the predictions, as a share of the largest value',
      figure: difference,
      wanted: '<= 0.00001',
      met: difference <= 1e-5,
    },
  ];
}

function openingRow(opened: ReadonlyMap<Form, Opened>): Row {
  const seconds = (form: Form): number => opened.get(form)?.cpu_seconds ?? Number.NaN;
  const figure = seconds('fused') / seconds('exported');
  return {
    what: `Opening the graph and fusing ${opened.get('fused')?.fused} attentions: CPU time`,
    lehr: seconds('fused'),
    other: seconds('exported'),
    unit: 's',
    figure,
    wanted: '<= 1.1',
    met: figure <= 1.1,
  };
}
