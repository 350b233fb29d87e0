/** Text models in Lehr beside other programs with the same graph: milliseconds of one text after the other. */
import { openTextModel } from '../../../apps/worker/src/models/text/text-folder.ts';
import { onnxRuntime } from '../../../apps/worker/src/runtime/onnx.ts';
import { percentile } from '../../bench/harness.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import { atMostRow } from '../rows.ts';
import type { Bench, Row } from '../section.ts';
import { type Side, type TextModelOfSide, THREADS } from './speed-sides.ts';
import {
  DEMO,
  demoSides,
  MASKED,
  minilmModel,
  minilmSides,
  textsOf,
  underLoad,
  withSides,
} from './speed-texts.ts';

const ROUNDS = 5;
const TEXTS_ALONE = 30;
/** Tokens of a text whose call may add no more than MOST_ADDED_MS to the graph's own time. */
const SHORT = 16;
const MOST_ADDED_MS = 6;

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
    arriving: () => Promise.reject(new Error('The graph takes no callers.')),
    close: () => model.close(),
  };
}

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
