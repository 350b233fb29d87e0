/** Models, programs and texts of the comparisons of speed. */
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench, Row } from '../section.ts';
import { exportMinilm } from './minilm.ts';
import {
  lehrSide,
  pipelineServerSide,
  type Side,
  sentenceTransformersSide,
  type TextModelOfSide,
  transformersJsSide,
} from './speed-sides.ts';

/** Each is one token in both vocabularies. */
const WORDS = ['red', 'blue', 'green', 'circle', 'square', 'triangle', 'large', 'small', 'left', 'right'];

/** A text of so many tokens, special tokens included; texts of different numbers differ. */
function textOf(tokens: number, number: number, first: readonly string[] = []): string {
  const words = Array.from({ length: tokens - 2 - first.length }, (_, i) => {
    const digit = Math.floor(number / WORDS.length ** i) % WORDS.length;
    return WORDS[(digit + i) % WORDS.length];
  });
  return [...first, ...words].join(' ');
}

export const DEMO: TextModelOfSide = {
  folder: fileURLToPath(new URL('../../../packages/demo-models/models/demo-text', import.meta.url)),
  type: 'fill-mask',
};

export async function withSides(
  opens: readonly (() => Promise<Side>)[],
  work: (sides: Side[]) => Promise<Row[]>,
) {
  const sides: Side[] = [];
  try {
    for (const open of opens) sides.push(await open());
    return await work(sides);
  } finally {
    for (const side of sides) await side.close();
  }
}

export const minilmSides = (bench: Bench, model: TextModelOfSide) => [
  () => lehrSide(model),
  () => pipelineServerSide(bench, model),
  () => transformersJsSide(model.folder),
  () => sentenceTransformersSide(bench, model.folder),
];
export const demoSides = (bench: Bench) => [() => lehrSide(DEMO), () => pipelineServerSide(bench, DEMO)];

export async function minilmModel(bench: Bench): Promise<TextModelOfSide> {
  await exportMinilm(bench, join(bench.cache, 'minilm'));
  return { folder: join(bench.cache, 'minilm'), type: 'text-embedding' };
}

let asked = 0;
export const textsOf = (
  count: number,
  tokens: (index: number) => number,
  first: readonly string[] = [],
): string[] => Array.from({ length: count }, (_, i) => textOf(tokens(i), asked++, first));

/** Names the load of the machine in which a row was measured: processes that wait for a core make each step of a call wait. */
export const underLoad = (row: Row): Row => ({
  ...row,
  note: `${Math.round(loadavg()[0])} processes wanted one of ${cpus().length} cores`,
});

export const MASKED = ['a', '[MASK]', 'on', 'a'];
