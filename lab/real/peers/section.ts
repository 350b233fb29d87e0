/** Whisper base in Lehr beside the programs that people use today: speed, memory, word errors. */
import { wordErrorRate } from '../../../test/support/held-out-speech.ts';
import { equalRow } from '../rows.ts';
import type { Comparison, Row, Section } from '../section.ts';
import { ENVIRONMENT } from '../whisper/models.ts';
import { englishParts, jfk, type Spoken } from '../whisper/speech.ts';
import { interleaved, ratioRow, type Timed } from './interleaved.ts';
import { joinedFiles } from './joined-files.ts';
import { longFile } from './long-file.ts';
import { fasterWhisper, lehr, transformers, transformersJs, withSides } from './programs.ts';
import type { Side } from './sides.ts';
import { WHISPER_CPP, whisperCppSide } from './whisper-cpp.ts';

const JOBS = 8;
const ROUNDS = 3;
const MINUTES = 10;

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

whisper.cpp runs from the wheel of pywhispercpp, which uses AVX2. [ggml.py](real/peers/ggml.py) writes its file from the same
weights; its matrices stay in float16, in which the weights were published, and which whisper.cpp's own files have. It opens that file,
and its words of jfk.flac are those of the other programs.`,
  environments: [ENVIRONMENT, WHISPER_CPP],
  comparisons: [one, eight, int8, errors, longFile(MINUTES)],
};
