/** BERT-base at full size with random weights, in Lehr's engine and in transformers. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { TextAnswers } from '../../../apps/worker/src/engine/protocol/messages.ts';
import { openTextEngine } from '../../../test/support/text-engine.ts';
import type { Bench, Row } from '../section.ts';

const TOLERANCE = 1e-5;
const BATCHED_TOLERANCE = 1e-6;
/** Scores closer than this are in an order of chance. */
const TIE = 1e-6;
const TOP = 5;
const MASKED = [
  'a red [MASK] on a blue background.',
  'the [MASK] sat on the mat.',
  'paris is the capital of [MASK].',
  `${'a long sentence about many things that follow each other, '.repeat(20)}and one [MASK].`,
  '[MASK]',
];
const SENTENCES = MASKED.map((text) => text.replaceAll('[MASK]', 'cat'));

const FillsSchema = z.array(z.array(z.object({ score: z.number(), token: z.number() })));
const LabelsSchema = z.array(z.array(z.object({ label: z.string(), score: z.number() })));

/** By text: the names of the results, best first, and their scores. */
type Scored = readonly { readonly name: string; readonly score: number }[];

/** Writes the exports unless they are there already. */
export async function exportBertBase(bench: Bench, folder: string): Promise<void> {
  if (existsSync(join(folder, 'classify', 'model.onnx'))) return;
  bench.say('exporting BERT-base');
  const python = await bench.openPython('lab/real/text/bert_base.py');
  await python.ask({ export: folder });
  await python.close();
}

export async function bertBase(bench: Bench): Promise<Row[]> {
  const folder = join(bench.cache, 'bert-base');
  await exportBertBase(bench, folder);
  const python = await bench.openPython('lab/real/text/bert_base.py');
  const fills = FillsSchema.parse(await python.ask({ fill: MASKED, top: TOP + 5 }));
  const labels = LabelsSchema.parse(await python.ask({ classify: SENTENCES }));
  await python.close();
  const wantedFills = fills.map((fill) => fill.map(({ token, score }) => ({ name: String(token), score })));
  const wantedLabels = labels.map((each) => each.map(({ label, score }) => ({ name: label, score })));
  return [
    ...(await compared('fill-mask', join(folder, 'fill'), MASKED, wantedFills)),
    ...(await compared('text-classification', join(folder, 'classify'), SENTENCES, wantedLabels)),
  ];
}

async function compared(
  type: 'fill-mask' | 'text-classification',
  folder: string,
  texts: readonly string[],
  wanted: readonly Scored[],
): Promise<Row[]> {
  const engine = await openTextEngine(folder);
  const work =
    type === 'fill-mask' ? ({ type, topK: TOP } as const) : ({ type, topK: null, function: null } as const);
  const answer = async (some: readonly string[]): Promise<readonly Scored[]> => {
    const [{ answers }] = await engine.answer([{ texts: some, work, mayTruncate: true }]);
    return scoredOf(answers);
  };
  const together = await answer(texts);
  const alone: Scored[] = [];
  for (const text of texts) alone.push(...(await answer([text])));
  await engine.close();
  const fromPython = largest(together, wanted);
  const apart = largest(together, alone);
  const isSameOrder = together.every((row, i) => isOrderOf(row, wanted[i]));
  return [
    {
      what: `${type}: the best results of ${texts.length} texts of 3 to 230 tokens, in their order (scores within ${TIE} of each other may change places), beside transformers' pipeline`,
      figure: isSameOrder ? 'all equal' : 'not all equal',
      wanted: 'all equal',
      met: isSameOrder,
    },
    {
      what: `${type}: their scores, largest difference`,
      figure: fromPython,
      wanted: `<= ${TOLERANCE}`,
      met: fromPython <= TOLERANCE,
    },
    {
      what: `${type}: a text in a run with others beside the same text alone, largest difference`,
      figure: apart,
      wanted: `<= ${BATCHED_TOLERANCE}`,
      met: apart <= BATCHED_TOLERANCE,
    },
  ];
}

function scoredOf(answers: TextAnswers): readonly Scored[] {
  if (answers.type === 'fill-mask') {
    return answers.fills.map(([fill]) => fill.map(({ token, score }) => ({ name: String(token), score })));
  }
  if (answers.type === 'text-classification') {
    return answers.labels.map((labels) => labels.map(({ label, score }) => ({ name: label, score })));
  }
  throw new Error(`BERT-base answered ${answers.type}.`);
}

/** Whether the names are in the same order, but for ties. `wanted` has some more, for ties at the end. */
const isOrderOf = (row: Scored, wanted: Scored): boolean =>
  row.every(({ name }, i) => Math.abs(scoreOf(wanted, name) - wanted[i].score) <= TIE);

/** NaN when the name is not there, so that every comparison with it fails. */
const scoreOf = (row: Scored, name: string): number =>
  row.find((each) => each.name === name)?.score ?? Number.NaN;

/** The same names are compared. */
const largest = (a: readonly Scored[], b: readonly Scored[]): number =>
  Math.max(...a.flatMap((row, i) => row.map(({ name, score }) => Math.abs(score - scoreOf(b[i], name)))));
