/** One long file in Lehr, in sequence and in the fast mode, beside the ways in which other programs take such a file. */
import { wordErrorRate, wordsIn, wrongWords } from '../../../test/support/held-out-speech.ts';
import type { Bench, Comparison, Row } from '../section.ts';
import { jfk, longSpeech, type Spoken } from '../whisper/speech.ts';
import { interleaved, ratioRow, type Timed } from './interleaved.ts';
import { fasterWhisper, lehr, type Open, transformers, transformersJs, withSides } from './programs.ts';
import type { Outcome, Side } from './sides.ts';

/** A round takes each program one to two minutes. */
const ROUNDS = 2;

interface Way {
  readonly name: string;
  /** The index of its program in PROGRAMS. */
  readonly program: number;
  readonly options: { readonly isLong?: boolean; readonly mode?: string };
}

/** Each is opened once, because all of them are in memory at the same time. */
const PROGRAMS: readonly Open[] = [lehr('merged'), fasterWhisper('float32'), transformersJs, transformers];
const SEQUENTIAL: Way = { name: 'Lehr, sequential', program: 0, options: { mode: 'sequential' } };
const FAST: Way = { name: 'Lehr, fast', program: 0, options: { mode: 'fast' } };
const OTHERS: readonly Way[] = [
  { name: 'faster-whisper, batched', program: 1, options: { isLong: true } },
  { name: 'faster-whisper, sequential', program: 1, options: {} },
  { name: 'transformers.js, windows of 30 s', program: 2, options: {} },
  { name: 'transformers, batched', program: 3, options: { isLong: true } },
];
const WAYS = [SEQUENTIAL, FAST, ...OTHERS];

interface Runner {
  readonly way: Way;
  readonly side: Side;
}

/** `minutes` of sound. The rounds are interleaved; a short file warms up. */
export const longFile = (minutes: number): Comparison => ({
  name: 'ten-minutes',
  title: `${minutes === 10 ? 'Ten' : minutes} minutes of sound: seconds of sound per second (float32)`,
  run: (bench) =>
    withSides(bench, PROGRAMS, async (sides) => {
      const runners = WAYS.map((way): Runner => ({ way, side: sides[way.program] }));
      const spoken = await longSpeech(bench.cache, minutes);
      return rowsOf(spoken, await rounds(bench, spoken, runners, minutes * 60));
    }),
});

interface Rounds {
  readonly timed: readonly Timed<Runner>[];
  /** Of the last round. */
  readonly outcomes: ReadonlyMap<Way, Outcome>;
}

async function rounds(
  bench: Bench,
  spoken: Spoken,
  runners: readonly Runner[],
  soundS: number,
): Promise<Rounds> {
  const short = await jfk(bench.cache);
  const warm = new Set<Runner>();
  const outcomes = new Map<Way, Outcome>();
  const timed = await interleaved(runners, ROUNDS, async (runner) => {
    const { side, way } = runner;
    const file = warm.has(runner) ? spoken : short;
    warm.add(runner);
    const outcome = await side.transcribe([file], way.options);
    outcomes.set(way, outcome);
    if (file === spoken) bench.say(`${way.name}: ${outcome.seconds.toFixed(1)} s`);
    return soundS / outcome.seconds;
  });
  return { timed, outcomes };
}

function rowsOf(spoken: Spoken, { timed, outcomes }: Rounds): Row[] {
  const speeds = (way: Way): readonly number[] => timed.find(({ side }) => side.way === way)?.values ?? [];
  const textOf = (way: Way): string => outcomes.get(way)?.texts[0] ?? '';
  const words = wordsIn(spoken.text).length;
  const beside = [SEQUENTIAL, FAST].flatMap((ours) =>
    OTHERS.map((way) =>
      ratioRow(`${ours.name}, beside ${way.name}`, speeds(ours), speeds(way), { unit: 's/s' }),
    ),
  );
  const memory = PROGRAMS.map((_, program): Row => {
    const ways = WAYS.filter((way) => way.program === program);
    const parts = program === 0 ? ' (API, worker and engine)' : '';
    return {
      what: `peak memory, ${ways.map(({ name }) => name).join('; ')}${parts}`,
      figure: Math.round(Math.max(...ways.map((way) => outcomes.get(way)?.peakMb ?? 0))),
      unit: 'MB',
    };
  });
  const errors = WAYS.map((way): Row => {
    const apart = (100 * wrongWords({ spoken: textOf(SEQUENTIAL), transcript: textOf(way) })) / words;
    return {
      what: `word errors, ${way.name}; ${apart.toFixed(1)} % of its words differ from ${SEQUENTIAL.name}`,
      figure: 100 * wordErrorRate([{ spoken: spoken.text, transcript: textOf(way) }]),
      unit: '%',
    };
  });
  return [...beside, ...memory, ...errors];
}
