/** Text models in int8, as `lehr models prepare --precision int8` writes them, beside the same models in float32: processor time and answers. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compareText } from '../../../apps/worker/src/engine/models/converted/compare-text.ts';
import { TEXT_TOLERANCE } from '../../../apps/worker/src/engine/models/converted/convert-text.ts';
import { writeQuantized } from '../../../apps/worker/src/engine/models/converted/quantize-graph.ts';
import { onnxRuntime } from '../../../apps/worker/src/engine/runtime/onnx.ts';
import { openTextModel, type TextModel } from '../../../apps/worker/src/engine/text/folder/text-folder.ts';
import { textOf } from '../../../apps/worker/src/engine/text/lane/text-lanes.ts';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import { atMostRow } from '../rows.ts';
import type { Bench, Row } from '../section.ts';
import { exportBertBase } from './bert-base.ts';
import { exportMinilm } from './minilm.ts';

const OPTIONS = { providers: ['cpu'], threads: 2 } as const;
/** Of graphs that only this comparison makes. */
const VARIANT = '_lab_int8';
const ROUNDS = 20;
/** Texts of a run, and tokens of each. */
const RUNS = [
  [1, 16],
  [8, 16],
  [1, 128],
] as const;
/** A round computes about so many tokens. */
const TOKENS = 256;
/** An int8 graph has other answers, so it must be much faster. */
const AT_MOST = 0.7;

export async function int8(bench: Bench): Promise<Row[]> {
  const [minilm, bert] = [join(bench.cache, 'minilm'), join(bench.cache, 'bert-base')];
  await exportMinilm(bench, minilm);
  await exportBertBase(bench, bert);
  return [
    ...(await compared(bench, 'MiniLM', minilm)),
    ...(await compared(bench, 'BERT-base', join(bert, 'classify'))),
  ];
}

async function compared(bench: Bench, name: string, folder: string): Promise<Row[]> {
  const graph = join(folder, `model${VARIANT}.onnx`);
  bench.say(`writing ${name} in int8`);
  await writeQuantized(join(folder, 'model.onnx'), graph);
  const models: Record<Form, TextModel> = {
    int8: await openTextModel(folder, onnxRuntime, { ...OPTIONS, variant: VARIANT }),
    float32: await openTextModel(folder, onnxRuntime, OPTIONS),
  };
  try {
    const rows: Row[] = [];
    for (const [texts, tokens] of RUNS) rows.push(await timed(name, models, texts, tokens));
    const differences = await compareText(folder, onnxRuntime, OPTIONS, VARIANT);
    const { scores, vectors } = TEXT_TOLERANCE.int8;
    for (const { type, difference } of differences) {
      const isVector = type === 'text-embedding';
      const what = isVector ? 'one less the smallest cosine of a vector' : 'largest difference of a score';
      const bound = isVector ? vectors : scores;
      const note = difference > bound ? 'lehr models prepare refuses this model for it' : undefined;
      rows.push(atMostRow(`${name}, ${type}: ${what} and its original`, difference, bound, '', note));
    }
    return rows;
  } finally {
    await Promise.all(Object.values(models).map((model) => model.close()));
    await rm(graph);
  }
}

const FORMS = ['int8', 'float32'] as const;
type Form = (typeof FORMS)[number];

async function timed(
  name: string,
  models: Readonly<Record<Form, TextModel>>,
  texts: number,
  tokens: number,
): Promise<Row> {
  const calls = Math.ceil(TOKENS / (texts * tokens));
  const taken = await interleaved(FORMS, ROUNDS, async (form) => {
    const { graph, reading, tokenizer } = models[form];
    const run = new Array(texts).fill(textOf(tokens, tokenizer));
    const from = process.cpuUsage();
    for (let call = 0; call < calls; call += 1) await graph.run(run, Object.values(reading.outputs));
    const { user, system } = process.cpuUsage(from);
    return (user + system) / 1000 / calls;
  });
  const of = (form: Form): readonly number[] => taken.find(({ side }) => side === form)?.values ?? [];
  return ratioRow(`${name}: ${texts} of ${tokens} tokens, CPU time of a run`, of('int8'), of('float32'), {
    unit: 'ms',
    atMost: AT_MOST,
  });
}
