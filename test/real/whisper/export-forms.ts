/** The forms of the export: tokens beside PyTorch and Optimum's own runtime, and word errors. */
import { wordErrorRate } from '../../support/held-out-speech.ts';
import type { PythonProgram } from '../python.ts';
import { atMostRow, equalRow } from '../rows.ts';
import type { Comparison, Row } from '../section.ts';
import { type Models, whisperModels } from './models.ts';
import { cleanSpeech, type Spoken } from './speech.ts';
import { byLehr, request, sameTokens, type Written, withReference } from './tokens.ts';

const WER_LIMIT = 3;
/** Files for every form of the export. */
const SHORT = ['jfk', 'en_lighthouse', 'es_circulo'];

const EXPORTS = ['merged', 'pair', 'words', 'fp16', 'fp16-pair', 'int8', 'int8-pair'] as const;

const exports: Comparison = {
  name: 'exports',
  title: 'Exports of Optimum: merged decoder, pair of decoders, float16, int8',
  run: (bench) =>
    withReference(bench, EXPORTS, async ({ models, ask }) => {
      const files = (await cleanSpeech(bench.cache)).filter(({ name }) => SHORT.includes(name));
      const options = { timestamps: true };
      const folder = models.folder('weights');
      const inTorch = await ask<Written[]>({ ...request('generate', files, options), folder });
      const rows: Row[] = [];
      for (const form of EXPORTS) {
        const isExact = !form.startsWith('fp16') && !form.startsWith('int8');
        // int8 graphs round by the largest value of a batch, so only a window alone can be equal.
        const ours = await byLehr(models.folder(form), files, options, !form.startsWith('int8'));
        const equal = sameTokens(ours, inTorch);
        rows.push(
          isExact
            ? equalRow(`${form}: windows equal to PyTorch in float32`, equal)
            : {
                what: `${form}: windows equal to PyTorch in float32`,
                figure: `${equal.filter(Boolean).length} of ${equal.length} equal`,
              },
        );
        if (!isExact) rows.push(...(await besideOptimum(form, files, ours, models, ask)));
      }
      return rows;
    }),
};

/** The same files in Optimum's own runtime. */
async function besideOptimum(
  form: string,
  files: readonly Spoken[],
  ours: readonly Written[],
  models: Models,
  ask: PythonProgram['ask'],
): Promise<Row[]> {
  const folder = models.folder(form);
  const body = { ...request('generate', files, { timestamps: true }), folder, runtime: 'optimum' };
  const theirs = await ask<Written[]>({ ...body, float16: form.startsWith('fp16') });
  return [
    equalRow(
      `${form}: windows equal to the same graphs in Optimum's ORTModelForSpeechSeq2Seq`,
      sameTokens(ours, theirs),
    ),
  ];
}

const WORD_FORMS = ['merged', 'fp16', 'int8'] as const;

const words: Comparison = {
  name: 'word-errors',
  title: 'Word errors',
  run: async (bench) => {
    const models = await whisperModels(bench, WORD_FORMS);
    const clean = (await cleanSpeech(bench.cache)).filter(({ language }) => language === 'en');
    const rows: Row[] = [];
    for (const form of WORD_FORMS) {
      const written = await byLehr(models.folder(form), clean, { timestamps: true });
      const rate =
        100 * wordErrorRate(clean.map(({ text }, i) => ({ spoken: text, transcript: written[i].text })));
      rows.push(atMostRow(`${form}: jfk and the five English samples`, rate, WER_LIMIT, '%'));
    }
    return rows;
  },
};

export const formComparisons: readonly Comparison[] = [exports, words];
