/** The forms of the export: tokens beside PyTorch and Optimum's own runtime, and word errors. */
import { wordErrorRate } from '../../../test/support/held-out-speech.ts';
import type { PythonProgram } from '../python.ts';
import { atMostRow, equalRow } from '../rows.ts';
import type { Comparison, Row } from '../section.ts';
import type { Models } from './models.ts';
import { cleanSpeech, englishParts, type Spoken } from './speech.ts';
import { byLehr, request, sameTokens, type Written, withReference } from './tokens.ts';

const INT8_DIFFERS =
  'int8 rounds every activation, so the least difference can grow to another token: see the next row';
/** About the distance of two float32 log-mels of the same sound. */
const DISTURBANCE = 1e-6;
const WER_LIMIT = 3;
const NOT_CLEAN = 'a synthetic voice, which base hears badly in every program';
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
                figure: equalCount(equal),
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
  const what = `${form}: windows equal to the same graphs in Optimum's ORTModelForSpeechSeq2Seq`;
  if (!form.startsWith('int8')) return [equalRow(what, sameTokens(ours, theirs))];
  const disturbed = await ask<Written[]>({ ...body, disturbance: DISTURBANCE });
  return [
    equalRow(what, sameTokens(ours, theirs), INT8_DIFFERS),
    {
      what: `${form}: windows that Optimum writes equally when values to ${DISTURBANCE} are added to its log-mel`,
      figure: equalCount(sameTokens(theirs, disturbed)),
    },
  ];
}

const equalCount = (equal: readonly boolean[]): string =>
  `${equal.filter(Boolean).length} of ${equal.length} equal`;

const WORD_FORMS = ['merged', 'fp16', 'int8'] as const;

const words: Comparison = {
  name: 'word-errors',
  title: 'Word errors, beside PyTorch (float32)',
  run: (bench) =>
    withReference(bench, WORD_FORMS, async ({ models, ask }) => {
      const rows: Row[] = [];
      for (const { name, isPerson, files } of await englishParts(bench.cache)) {
        const rateOf = (written: readonly Written[]): number =>
          100 * wordErrorRate(files.map(({ text }, i) => ({ spoken: text, transcript: written[i].text })));
        const theirs = rateOf(
          await ask<Written[]>({
            ...request('generate', files, { timestamps: true }),
            folder: models.folder('weights'),
          }),
        );
        rows.push({ what: `${name}: transformers in PyTorch`, figure: theirs, unit: '%' });
        for (const form of WORD_FORMS) {
          const ours = rateOf(await byLehr(models.folder(form), files, { timestamps: true }));
          const what = `${name}: ${form}`;
          rows.push(
            isPerson
              ? atMostRow(what, ours, WER_LIMIT, '%')
              : { what, figure: ours, unit: '%', note: NOT_CLEAN },
          );
        }
      }
      return rows;
    }),
};

export const formComparisons: readonly Comparison[] = [exports, words];
