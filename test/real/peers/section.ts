/** Whisper base in Lehr beside the programs that people use today: speed, memory, word errors. */
import { rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { wordErrorRate } from '../../support/held-out-speech.ts';
import { equalRow } from '../rows.ts';
import type { Bench, Comparison, Row, Section } from '../section.ts';
import { KeptAnswers } from '../whisper/kept-answers.ts';
import { ENVIRONMENT, whisperModels } from '../whisper/models.ts';
import { englishParts, jfk, longSpeech, type Spoken } from '../whisper/speech.ts';
import { interleaved, ratioRow, type Timed } from './interleaved.ts';
import { joinedFiles } from './joined-files.ts';
import { lehrSide, type Outcome, pythonSide, type Side, transformersJsSide } from './sides.ts';
import { WHISPER_CPP, whisperCppSide } from './whisper-cpp.ts';

const JOBS = 8;
const ROUNDS = 3;
const MINUTES = 10;

type Open = (bench: Bench) => Promise<Side>;

const lehr =
  (form: 'merged' | 'int8'): Open =>
  async (bench) =>
    lehrSide('Lehr', (await whisperModels(bench, [form])).folder(form));
const fasterWhisper =
  (compute_type: string, extra: object = {}): Open =>
  async (bench) =>
    pythonSide(
      `faster-whisper${'batched' in extra ? ', batched' : ''} (${compute_type})`,
      bench,
      await whisperModels(bench, []),
      {
        do: 'faster-whisper',
        compute_type,
        ...extra,
      },
    );
const transformers: Open = async (bench) =>
  pythonSide('transformers (PyTorch)', bench, await whisperModels(bench, []), { do: 'transformers' });
const transformersJs: Open = async (bench) =>
  transformersJsSide('transformers.js', (await whisperModels(bench, ['merged'])).folder('merged'));

/** Opens the sides, and closes all of them at the end. */
async function withSides<Result>(
  bench: Bench,
  opens: readonly Open[],
  work: (sides: Side[]) => Promise<Result>,
): Promise<Result> {
  const sides: Side[] = [];
  try {
    for (const open of opens) sides.push(await open(bench));
    return await work(sides);
  } finally {
    for (const side of sides) await side.close();
  }
}

const others = (timed: readonly Timed<Side>[]) => {
  const [first, ...rest] = timed;
  return { ours: first.values, rest };
};

const one: Comparison = {
  name: 'one-file',
  title: 'One file of 11 s: seconds from request to transcript (float32)',
  run: (bench) =>
    withSides(
      bench,
      [lehr('merged'), transformersJs, transformers, fasterWhisper('float32'), whisperCppSide],
      async (sides) => {
        const file = await jfk(bench.cache);
        const texts = new Map<Side, string>();
        const { ours, rest } = others(
          await interleaved(sides, ROUNDS, async (side) => {
            const outcome = await side.transcribe([file]);
            texts.set(side, outcome.texts[0]);
            return outcome.seconds;
          }),
        );
        const rows = rest.map(({ side, values }) =>
          ratioRow(side.name, ours, values, {
            unit: 's',
            ...(side.name === 'transformers.js' && { atMost: 1.1 }),
          }),
        );
        return [...rows, transcriptRow(sides.map((side) => texts.get(side) ?? ''))];
      },
    ),
};

/** By words: programs on the same weights differ in a comma after "Americans". */
function transcriptRow([ours, ...rest]: readonly string[]): Row {
  return equalRow(
    "words of the transcript, beside Lehr's",
    rest.map((text) => wordErrorRate([{ spoken: ours, transcript: text }]) === 0),
  );
}

const int8: Comparison = {
  name: 'int8',
  title: 'int8, beside faster-whisper in int8',
  run: (bench) =>
    withSides(bench, [lehr('int8'), fasterWhisper('int8')], async (sides) => {
      const file = await jfk(bench.cache);
      const single = others(
        await interleaved(sides, ROUNDS, async (side) => (await side.transcribe([file])).seconds),
      );
      return single.rest.map(({ side, values }) =>
        ratioRow(`one file of 11 s, ${side.name}`, single.ours, values, { unit: 's', atMost: 1.3 }),
      );
    }),
};

const eight: Comparison = {
  name: 'eight-at-once',
  title: `${JOBS} jobs of 11 s at once: jobs per second (float32)`,
  run: async (bench) => {
    const file = await jfk(bench.cache);
    // faster-whisper batches the windows of one file only: it gets the files joined into one, and is told where each begins.
    const { joined, clips } = await joinedFiles(bench.cache, file, JOBS);
    const opens = [lehr('merged'), transformersJs, fasterWhisper('float32', { batched: true, clips })];
    return withSides(bench, opens, async (sides) => {
      const files = new Array<Spoken>(JOBS).fill(file);
      const filesOf = (side: Side) => (side.name.startsWith('faster-whisper') ? [joined] : files);
      const { ours, rest } = others(
        await interleaved(
          sides,
          ROUNDS,
          async (side) => JOBS / (await side.transcribe(filesOf(side))).seconds,
        ),
      );
      const rows = rest.map(({ side, values }) =>
        ratioRow(side.name, ours, values, {
          unit: 'jobs/s',
          atLeast: side.name === 'transformers.js' ? 1.5 : 1,
        }),
      );
      return [...rows, ...(await memory(sides, filesOf))];
    });
  },
};

/** After the rounds, so that each program has seen its largest work. */
async function memory(sides: readonly Side[], filesOf: (side: Side) => readonly Spoken[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const side of sides) {
    const { peakMb } = await side.transcribe(filesOf(side));
    const parts = side.name === 'Lehr' ? ' (API, worker and engine)' : '';
    rows.push({ what: `peak memory, ${side.name}${parts}`, figure: Math.round(peakMb), unit: 'MB' });
  }
  return rows;
}

const long: Comparison = {
  name: 'ten-minutes',
  title: `A file of ${MINUTES} minutes: seconds of sound per second (float32)`,
  run: async (bench) => {
    const spoken = await longSpeech(bench.cache, MINUTES);
    // Each run takes minutes: a comparison that was ended continues with the next one.
    const file = join(bench.cache, 'ten-minutes.json');
    const kept = await KeptAnswers.open<Row>(file);
    const rows: Row[] = [];
    for (const [open, program, how, options] of LONG_RUNS) {
      const row = await kept.answer([program, how], () => longRun(bench, spoken, open, how, options));
      bench.say(`${program}, ${how}: ${row.figure} s/s`);
      rows.push(row);
    }
    await rm(file);
    return rows;
  },
};

const LONG_RUNS: readonly (readonly [open: Open, program: string, how: string, options: object])[] = [
  [lehr('merged'), 'Lehr', 'sequential', { mode: 'sequential' }],
  [lehr('merged'), 'Lehr', 'fast', { mode: 'fast' }],
  [fasterWhisper('float32'), 'faster-whisper', 'sequential', {}],
  [fasterWhisper('float32'), 'faster-whisper', 'batched', { isLong: true }],
  [fasterWhisper('int8'), 'faster-whisper in int8', 'batched', { isLong: true }],
  [transformersJs, 'transformers.js', 'windows of 30 s', {}],
  [transformers, 'transformers', 'batched', { isLong: true }],
];

async function longRun(bench: Bench, spoken: Spoken, open: Open, how: string, options: object): Promise<Row> {
  const [name, { seconds, texts, peakMb }] = await withSides(
    bench,
    [open],
    async ([side]): Promise<[string, Outcome]> => [side.name, await side.transcribe([spoken], options)],
  );
  const errors = 100 * wordErrorRate([{ spoken: spoken.text, transcript: texts[0] }]);
  const load = loadavg()[0].toFixed(1);
  return {
    what: `${name}, ${how}; word errors ${errors.toFixed(1)} %, peak memory ${Math.round(peakMb)} MB`,
    figure: (MINUTES * 60) / seconds,
    unit: 's/s',
    note: `load ${load} at its end`,
  };
}

const errors: Comparison = {
  name: 'word-errors',
  title: 'Word errors of English speech',
  run: async (bench) => {
    const parts = await englishParts(bench.cache);
    const opens = [
      lehr('merged'),
      transformersJs,
      transformers,
      fasterWhisper('float32'),
      fasterWhisper('int8'),
      whisperCppSide,
    ];
    return withSides(bench, opens, async (sides) => {
      const rows: Row[] = [];
      for (const { name, files } of parts) {
        for (const side of sides) {
          const { texts } = await side.transcribe(files);
          const rate =
            100 * wordErrorRate(files.map(({ text }, i) => ({ spoken: text, transcript: texts[i] })));
          rows.push({ what: `${name}: ${side.name}`, figure: rate, unit: '%' });
        }
      }
      return rows;
    });
  },
};

export const section: Section = {
  title: 'Whisper base: speed beside other programs',
  about: `The same weights in every program, two threads, greedy decoding with timestamps, English given. Lehr is all of Lehr: API, Redis,
store, worker and engine, by HTTP; the other programs are called in their own process, without a queue. transformers.js runs on the
version of ONNX Runtime that Lehr runs on. faster-whisper's batched pipeline takes one file: for ${JOBS} jobs it gets the ${JOBS} files joined
into one and is told where each begins, which a queue of jobs does not offer.

whisper.cpp runs from the wheel of pywhispercpp, which uses AVX2. [ggml.py](../test/real/peers/ggml.py) writes its file from the same
weights; its matrices stay in float16, in which the weights were published, and which whisper.cpp's own files have. It opens that file,
and its words of jfk.flac are those of the other programs.`,
  environments: [ENVIRONMENT, WHISPER_CPP],
  comparisons: [one, eight, int8, errors, long],
};
