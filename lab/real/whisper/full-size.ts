/** Whisper large-v3's forms at full size with random weights, as onnx-community publishes them: logits beside transformers, memory and time. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { logMelWindow } from '../../../apps/worker/src/parent/audio/log-mel.ts';
import { plainWaveform, sampleFile } from '../../../test/support/audio-golden.ts';
import { v3Tokenizer } from '../../../test/support/whisper-v3.ts';
import { once } from '../diffusion/full-size.ts';
import { atMostRow } from '../rows.ts';
import type { Bench, Comparison, Row } from '../section.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const SCRIPT = 'lab/real/whisper/full_size.py';
const FROM_SOURCE = ['--conditions=lehr-source', `--import=${join(ROOT, 'infra/local/typescript.mjs')}`];
const SAMPLES = ['en_fox', 'es_circulo'];
const PROMPT = [50258, 50259, 50360, 50364];
const FRONT_END = { melBins: 128, fftSize: 400, hopLength: 160, windowSamples: 480_000 } as const;
const MB = 1e6;

interface Precision {
  readonly name: string;
  /** Of the graph files. */
  readonly suffix: string;
  /** Largest difference of a logit, as a share of the largest one. Random weights lose more in few bits than trained ones. */
  readonly limit?: number;
}

const FLOAT32: Precision = { name: 'float32', suffix: '', limit: 1e-5 };
const FP16: Precision = { name: 'fp16', suffix: '_fp16', limit: 0.01 };
const QUANTIZED: Precision = { name: 'quantized', suffix: '_quantized' };

/** By the names of full_size.py. To convert large-v3 takes more memory than most machines have. */
const MODELS: Readonly<Record<string, readonly Precision[]>> = {
  'distil-large-v3': [FLOAT32, FP16, QUANTIZED],
  'large-v3-turbo': [FLOAT32, FP16, QUANTIZED],
  'large-v3': [FLOAT32],
};

/** Seconds are of CPU time. */
interface Opened {
  readonly openSeconds: number;
  readonly batching: { readonly mode: string };
  readonly layers: number;
  readonly vocabularySize: number;
}

interface Window {
  readonly encodeSeconds: number;
  readonly startSeconds: number;
  readonly stepSeconds: number;
  readonly difference: number;
  readonly scale: number;
  readonly peakBytes: number;
}

async function compare(bench: Bench, model: string, precision: Precision): Promise<readonly Row[]> {
  const folder = join(bench.cache, 'full', model);
  const [weights, repo] = ['weights', 'repo'].map((name) => join(folder, name));
  await once(weights, `making ${model}`, { do: 'make', name: model, folder: weights }, bench, SCRIPT);
  await once(repo, `exporting ${model}`, { do: 'export', weights, folder: repo }, bench, SCRIPT);
  await writeFile(join(repo, 'tokenizer.json'), JSON.stringify(v3Tokenizer()));
  const { suffix } = precision;
  if (!existsSync(join(repo, 'onnx', `decoder_model_merged${suffix}.onnx`))) {
    bench.say(`converting ${model} to ${precision.name}`);
    await ask(bench, [{ do: 'convert', folder: repo, variant: precision.name }]);
  }
  const mels = await writeMels(folder);
  bench.say('transformers and Lehr, one after the other');
  const theirs = await ask<{ encode_cpu_seconds: number }>(
    bench,
    mels.map((mel) => ({ do: 'logits', folder: weights, mel, out: `${mel}.logits`, prompt: PROMPT })),
  );
  const [opened, ...windows] = await byLehr(repo, suffix, mels);
  const torchSeconds = mean(theirs.map((each) => each.encode_cpu_seconds));
  return [
    ...openedRows(precision, opened as Opened, windows as Window[]),
    { what: 'files of the graphs', figure: Math.round((await bytesOf(repo, suffix)) / MB), unit: 'MB' },
    ...timeRows(windows as Window[], torchSeconds),
  ];
}

/** Asks torch in a new process: a model takes gigabytes, which only the end of its process frees. */
async function ask<T>(bench: Bench, requests: readonly object[]): Promise<readonly T[]> {
  const program = await bench.openPython(SCRIPT);
  try {
    const answers: T[] = [];
    for (const request of requests) answers.push(await program.ask<T>(request));
    return answers;
  } finally {
    await program.close();
  }
}

async function writeMels(folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const sample of SAMPLES) {
    const mel = logMelWindow(plainWaveform(sampleFile(`speech/${sample}.wav`)), 0, FRONT_END);
    const file = join(folder, `${sample}.f32`);
    await writeFile(file, new Uint8Array(mel.buffer));
    files.push(file);
  }
  return files;
}

async function byLehr(folder: string, suffix: string, mels: readonly string[]): Promise<unknown[]> {
  const script = join(ROOT, 'lab/real/whisper/open-windows.ts');
  const child = spawn(process.execPath, [...FROM_SOURCE, script, folder, suffix, ...mels], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const answers: unknown[] = [];
  for await (const line of createInterface({ input: child.stdout })) answers.push(JSON.parse(line));
  if (answers.length !== mels.length + 1) throw new Error(`${folder} could not be run; the output is above.`);
  return answers;
}

async function bytesOf(repo: string, suffix: string): Promise<number> {
  const folder = join(repo, 'onnx');
  const graphs = ['encoder_model', 'decoder_model_merged'].map((name) => `${name}${suffix}.onnx`);
  const names = (await readdir(folder)).filter((name) => graphs.some((graph) => name.startsWith(graph)));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function openedRows({ limit }: Precision, opened: Opened, windows: readonly Window[]): Row[] {
  const difference = Math.max(...windows.map((each) => each.difference / each.scale));
  const what = 'logits after the prompt, as a share of the largest, from transformers in float32';
  return [
    {
      what: 'decoder layers and tokens, with 128 mel bins',
      figure: `${opened.layers} and ${opened.vocabularySize}`,
    },
    limit === undefined ? { what, figure: difference } : atMostRow(what, difference, limit, ''),
    { what: 'rows of a decoder call', figure: opened.batching.mode === 'rows' ? 'step by step' : 'aligned' },
    { what: 'opening it, every graph run: CPU time', figure: opened.openSeconds, unit: 's' },
    {
      what: 'resident memory at its largest',
      figure: Math.round(Math.max(...windows.map(({ peakBytes }) => peakBytes)) / MB),
      unit: 'MB',
    },
  ];
}

function timeRows(windows: readonly Window[], torchSeconds: number): Row[] {
  const encodeSeconds = mean(windows.map((each) => each.encodeSeconds));
  return [
    {
      what: 'encoder, a window of 30 s, beside transformers in float32 just before: CPU time',
      lehr: encodeSeconds,
      other: torchSeconds,
      unit: 's',
      figure: encodeSeconds / torchSeconds,
    },
    {
      what: 'decoder, the prompt of one window: CPU time',
      figure: mean(windows.map((each) => each.startSeconds)),
      unit: 's',
    },
    {
      what: 'decoder, a step of one window: CPU time',
      figure: mean(windows.map((each) => each.stepSeconds)),
      unit: 's',
    },
  ];
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / values.length;

export const fullSizeComparisons: readonly Comparison[] = Object.entries(MODELS).flatMap(
  ([model, precisions]) =>
    precisions.map((precision) => ({
      name: `full-${model}-${precision.name}`,
      title: `Whisper ${model} at full size with random weights, ${precision.name}, 2 threads`,
      run: (bench: Bench) => compare(bench, model, precision),
    })),
);
