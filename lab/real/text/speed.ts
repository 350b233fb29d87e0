/** Text models in Lehr beside other programs with the same graph: milliseconds of one text after the other. */

import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import { openTextModel } from '../../../apps/worker/src/engine/text/folder/text-folder.ts';
import { percentile } from '../../bench/harness.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import { atMostRow } from '../rows.ts';
import type { Bench, Row } from '../section.ts';
import { lehrSide, type Side, type TextModelOfSide, THREADS, WITHOUT_RECORD } from './speed-sides.ts';
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
/** The same of a call without a record, which takes the short way. */
const MOST_ADDED_SHORT_MS = 3;

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
  const graph = timed.find(({ side }) => side.name === 'graph');
  const added = (lehr: (typeof timed)[number], limit: number): Row[] => {
    if (!graph) return [];
    const differences = lehr.values.map((value, i) => value - graph.values[i]);
    const name = `${what}, what ${lehr.side.name} adds to the graph's own time`;
    const figure = percentile(differences, 50);
    const row: Row =
      tokens === SHORT ? atMostRow(name, figure, limit, 'ms') : { what: name, figure, unit: 'ms' };
    const both = { lehr: fastestOf(lehr.side), other: fastestOf(graph.side) };
    return [
      { ...row, lehr: percentile(lehr.values, 50), other: percentile(graph.values, 50) },
      {
        what: `${name}, of the fastest call and the fastest run`,
        ...both,
        figure: both.lehr - both.other,
        unit: 'ms',
      },
    ];
  };
  const rows = others.flatMap((other): Row[] => {
    if (other === graph) return added(ours, MOST_ADDED_MS);
    if (other.side.name === WITHOUT_RECORD) return added(other, MOST_ADDED_SHORT_MS);
    return [ratioRow(`${what}, ${other.side.name}`, ours.values, other.values, { unit: 'ms' })];
  });
  return rows.map(underLoad);
}

/** A comparison for each model, so that a run that was stopped goes on with the next one. */
export const oneText = async (bench: Bench): Promise<Row[]> => {
  const model = await minilmModel(bench);
  return withSides(
    [...minilmSides(bench, model), () => lehrSide(model, 'none'), () => graphSide(model)],
    async (sides) => [
      ...(await aloneRows(sides, 'MiniLM, 16 tokens', SHORT)),
      ...(await aloneRows(sides, 'MiniLM, 128 tokens', 128)),
    ],
  );
};

export const oneDemoText = (bench: Bench): Promise<Row[]> =>
  withSides([...demoSides(bench), () => lehrSide(DEMO, 'none'), () => graphSide(DEMO)], (sides) =>
    aloneRows(sides, 'demo-text fills a mask, 16 tokens', SHORT, MASKED),
  );
