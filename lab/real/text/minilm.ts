/** Embeddings of MiniLM's real weights, in Lehr's engine and in sentence-transformers. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openTextEngine } from '../../../test/support/text-engine.ts';
import { expectedOf } from '../../../test/support/text-fixtures.ts';
import type { Bench, Row } from '../section.ts';

const EMBED = { type: 'text-embedding', normalize: null, dimensions: null } as const;
const TOLERANCE = 1e-5;
const BATCHED_TOLERANCE = 1e-6;

/** Writes the export unless it is there already. */
export async function exportMinilm(bench: Bench, folder: string): Promise<void> {
  if (existsSync(join(folder, 'model.onnx'))) return;
  bench.say('exporting MiniLM');
  const python = await bench.openPython('lab/real/text/minilm.py');
  await python.ask({ export: folder });
  await python.close();
}

export async function minilm(bench: Bench): Promise<Row[]> {
  const folder = join(bench.cache, 'minilm');
  await exportMinilm(bench, folder);
  const python = await bench.openPython('lab/real/text/minilm.py');
  const texts = expectedOf('bert-sentences').encoded.map(({ text }) => text);
  const wanted = (await python.ask({ texts })) as number[][];
  await python.close();
  const engine = await openTextEngine(folder);
  const together = await vectors(engine, [texts]);
  const alone = await vectors(
    engine,
    texts.map((text) => [text]),
  );
  await engine.close();
  const fromPython = largest(together, wanted);
  const apart = largest(together, alone);
  return [
    {
      what: `embeddings of ${texts.length} texts of 2 to 256 tokens beside sentence-transformers in torch, largest difference`,
      figure: fromPython,
      wanted: `<= ${TOLERANCE}`,
      met: fromPython <= TOLERANCE,
    },
    {
      what: 'a text in a run with others beside the same text alone, largest difference',
      figure: apart,
      wanted: `<= ${BATCHED_TOLERANCE}`,
      met: apart <= BATCHED_TOLERANCE,
    },
  ];
}

/** One job for each list of texts, one after the other. */
async function vectors(
  engine: Awaited<ReturnType<typeof openTextEngine>>,
  jobs: readonly (readonly string[])[],
): Promise<number[][]> {
  const found: number[][] = [];
  for (const texts of jobs) {
    const [{ answers }] = await engine.answer([{ texts, work: EMBED, mayTruncate: true }]);
    if (answers.type !== 'text-embedding') throw new Error(`MiniLM answered ${answers.type}.`);
    const { values, dimensions } = answers;
    for (let i = 0; i < texts.length; i += 1) {
      found.push([...values.subarray(i * dimensions, (i + 1) * dimensions)]);
    }
  }
  return found;
}

const largest = (a: readonly number[][], b: readonly number[][]): number =>
  Math.max(...a.flatMap((row, i) => row.map((value, j) => Math.abs(value - b[i][j]))));
