/** Text models in Lehr beside other programs with the same graph: milliseconds of a text, and texts per second of many callers. */
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openTextModel } from '../../../apps/worker/src/models/text/text-folder.ts';
import { onnxRuntime } from '../../../apps/worker/src/runtime/onnx.ts';
import { percentile } from '../../bench/harness.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import { atMostRow } from '../rows.ts';
import type { Bench, Row } from '../section.ts';
import { exportMinilm } from './minilm.ts';
import {
  CALLERS,
  lehrSide,
  pipelineServerSide,
  type Side,
  sentenceTransformersSide,
  type TextModelOfSide,
  THREADS,
  transformersJsSide,
} from './speed-sides.ts';

const ROUNDS = 5;
const TEXTS_ALONE = 30;
const TEXTS_OF_CROWD = 256;
/** Tokens of a text whose call may add no more than MOST_ADDED_MS to the graph's own time. */
const SHORT = 16;
const MOST_ADDED_MS = 6;
const LEAST_RATIO = 1.3;

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

const DEMO: TextModelOfSide = {
  folder: fileURLToPath(new URL('../../../packages/demo-models/models/demo-text', import.meta.url)),
  type: 'fill-mask',
};

async function withSides(opens: readonly (() => Promise<Side>)[], work: (sides: Side[]) => Promise<Row[]>) {
  const sides: Side[] = [];
  try {
    for (const open of opens) sides.push(await open());
    return await work(sides);
  } finally {
    for (const side of sides) await side.close();
  }
}

const minilmSides = (bench: Bench, model: TextModelOfSide) => [
  () => lehrSide(model),
  () => pipelineServerSide(bench, model),
  () => transformersJsSide(model.folder),
  () => sentenceTransformersSide(bench, model.folder),
];
const demoSides = (bench: Bench) => [() => lehrSide(DEMO), () => pipelineServerSide(bench, DEMO)];

async function minilmModel(bench: Bench): Promise<TextModelOfSide> {
  await exportMinilm(bench, join(bench.cache, 'minilm'));
  return { folder: join(bench.cache, 'minilm'), type: 'text-embedding' };
}

let asked = 0;
const textsOf = (count: number, tokens: (index: number) => number, first: readonly string[] = []): string[] =>
  Array.from({ length: count }, (_, i) => textOf(tokens(i), asked++, first));

/** The graph alone, in this process. */
async function graphSide({ folder }: TextModelOfSide): Promise<Side> {
  const model = await openTextModel(folder, onnxRuntime, { providers: ['cpu'], threads: THREADS });
  const outputs = [...new Set(Object.values(model.reading.outputs))];
  return {
    name: 'graph',
    alone: async (texts) => {
      const taken: number[] = [];
      for (const text of texts) {
        const encoded = model.tokenizer.encode(text, { mayTruncate: false });
        const startedAt = performance.now();
        await model.graph.run([encoded], outputs);
        taken.push(performance.now() - startedAt);
      }
      return taken;
    },
    crowd: () => Promise.reject(new Error('The graph takes no callers.')),
    close: () => model.close(),
  };
}

/** Names the load of the machine in which a row was measured: processes that wait for a core make each step of a call wait. */
const underLoad = (row: Row): Row => ({
  ...row,
  note: `${Math.round(loadavg()[0])} processes wanted one of ${cpus().length} cores`,
});

/** Rows of one length: each other program, and what Lehr adds to the graph. */
async function aloneRows(
  sides: readonly Side[],
  what: string,
  tokens: number,
  first?: readonly string[],
): Promise<Row[]> {
  const fastest = new Map<Side, number>();
  const timed = await interleaved(sides, ROUNDS, async (side) => {
    const taken = await side.alone(textsOf(TEXTS_ALONE, () => tokens, first));
    fastest.set(side, Math.min(fastest.get(side) ?? Number.POSITIVE_INFINITY, ...taken));
    return percentile(taken, 50);
  });
  const [ours, ...others] = timed;
  const fastestOf = (side: Side): number => fastest.get(side) ?? Number.NaN;
  const rows = others.flatMap(({ side, values }): Row[] => {
    if (side.name !== 'graph')
      return [ratioRow(`${what}, ${side.name}`, ours.values, values, { unit: 'ms' })];
    const added = percentile(
      ours.values.map((value, i) => value - values[i]),
      50,
    );
    const name = `${what}, what Lehr adds to the graph's own time`;
    const row: Row =
      tokens === SHORT
        ? atMostRow(name, added, MOST_ADDED_MS, 'ms')
        : { what: name, figure: added, unit: 'ms' };
    const [lehr, graph] = [fastestOf(ours.side), fastestOf(side)];
    return [
      { ...row, lehr: percentile(ours.values, 50), other: percentile(values, 50) },
      {
        what: `${what}, the same of the fastest call and the fastest run`,
        lehr,
        other: graph,
        figure: lehr - graph,
        unit: 'ms',
      },
    ];
  });
  return rows.map(underLoad);
}

async function crowdRows(
  sides: readonly Side[],
  what: string,
  tokens: (index: number) => number,
  first?: readonly string[],
): Promise<Row[]> {
  const [ours, ...others] = await interleaved(sides, ROUNDS, async (side) => {
    const texts = textsOf(TEXTS_OF_CROWD, tokens, first);
    return texts.length / (await side.crowd(texts));
  });
  return others
    .map(({ side, values }) =>
      ratioRow(`${what}, ${side.name}`, ours.values, values, { unit: 'texts/s', atLeast: LEAST_RATIO }),
    )
    .map(underLoad);
}

const MASKED = ['a', '[MASK]', 'on', 'a'];

export async function oneText(bench: Bench): Promise<Row[]> {
  const model = await minilmModel(bench);
  const minilm = await withSides([...minilmSides(bench, model), () => graphSide(model)], async (sides) => [
    ...(await aloneRows(sides, 'MiniLM, 16 tokens', SHORT)),
    ...(await aloneRows(sides, 'MiniLM, 128 tokens', 128)),
  ]);
  const demo = await withSides([...demoSides(bench), () => graphSide(DEMO)], (sides) =>
    aloneRows(sides, 'demo-text fills a mask, 16 tokens', SHORT, MASKED),
  );
  return [...minilm, ...demo];
}

/** Every length from 4 to 128, in an order that mixes them. */
const mixed = (index: number): number => 4 + ((index * 37) % 125);

export async function manyCallers(bench: Bench): Promise<Row[]> {
  const model = await minilmModel(bench);
  const minilm = await withSides(minilmSides(bench, model), async (sides) => [
    ...(await crowdRows(sides, `MiniLM, ${CALLERS} callers, 16 tokens`, () => SHORT)),
    ...(await crowdRows(sides, `MiniLM, ${CALLERS} callers, 4 to 128 tokens`, mixed)),
  ]);
  const demo = await withSides(demoSides(bench), (sides) =>
    crowdRows(sides, `demo-text fills a mask, ${CALLERS} callers, 16 tokens`, () => SHORT, MASKED),
  );
  return [...minilm, ...demo];
}
