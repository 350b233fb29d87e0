/** Whole files through API and worker, beside openai-whisper's own `transcribe` on the same weights. */
import type { Transcript } from '../../../packages/shared/src/index.ts';
import { wordErrorRate, wordsIn, wrongWords } from '../../../test/support/held-out-speech.ts';
import { startSpeechLehr } from '../lehr.ts';
import type { PythonProgram } from '../python.ts';
import { atMostRow, equalRow } from '../rows.ts';
import type { Bench, Comparison, Row } from '../section.ts';
import { type Form, whisperModels } from './models.ts';
import { bytesOf, cleanSpeech, espeakSpeech, longSpeech, type Spoken } from './speech.ts';
import { REFERENCE } from './tokens.ts';

const LIMIT_S = 0.02;
const MINUTES = 10;
/** Lehr falls back from temperature 0 only. At this one it draws the likeliest token, unless the logits of two differ by less than 0.001. */
const GREEDY = 0.0001;

interface OpenaiWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

interface OpenaiTranscript {
  readonly language: string;
  readonly text: string;
  readonly segments: readonly {
    readonly start: number;
    readonly end: number;
    readonly text: string;
    readonly temperature: number;
    readonly words: readonly OpenaiWord[];
  }[];
}

interface Sides {
  ours(spoken: Spoken, input?: object): Promise<Transcript>;
  theirs(spoken: Spoken, options?: object): Promise<OpenaiTranscript>;
}

async function compared(bench: Bench, form: Form, work: (sides: Sides) => Promise<Row[]>): Promise<Row[]> {
  const models = await whisperModels(bench, [form]);
  const lehr = await startSpeechLehr(models.folder(form));
  let python: PythonProgram | undefined;
  try {
    python = await bench.openPython(REFERENCE);
    const program = python;
    return await work({
      ours: async (spoken, input) => lehr.transcribe(await lehr.upload(await bytesOf(spoken)), input),
      theirs: ({ file }, options = {}) =>
        program.ask({ do: 'transcribe', folder: models.folder('weights'), file, ...options }),
    });
  } finally {
    await python?.close();
    await lehr.close();
  }
}

/** The largest difference of times, in seconds; infinite for lists of different length. */
const furthest = (ours: readonly Times[], theirs: readonly Times[]): number =>
  ours.length === theirs.length
    ? Math.max(
        0,
        ...ours.map(({ start, end }, i) =>
          Math.max(Math.abs(start - theirs[i].start), Math.abs(end - theirs[i].end)),
        ),
      )
    : Number.POSITIVE_INFINITY;
type Times = { readonly start: number; readonly end: number };

/** Of the files with equal texts. */
const differenceRow = (what: string, differences: readonly number[]): Row =>
  differences.length === 0
    ? { what, figure: 'no text is equal', wanted: `<= ${LIMIT_S}`, met: false }
    : atMostRow(what, hundredths(Math.max(...differences)), LIMIT_S, 's');

const hundredths = (value: number): number => Math.round(value * 100) / 100;

const openai: Comparison = {
  name: 'openai',
  title: "Short files, beside openai-whisper's transcribe",
  run: (bench) =>
    compared(bench, 'words', async ({ ours, theirs }) => {
      const files = [...(await cleanSpeech(bench.cache)), ...(await espeakSpeech(bench.cache))];
      const pairs: [Transcript, OpenaiTranscript][] = [];
      for (const spoken of files) {
        pairs.push([
          await ours(spoken, { timestamps: 'word' }),
          await theirs(spoken, { word_timestamps: true }),
        ]);
      }
      // openai-whisper moves the ends of segments to those of their words when it times words.
      const plain: OpenaiTranscript[] = [];
      for (const spoken of files) plain.push(await theirs(spoken));
      // Above temperature 0 both draw tokens at random.
      const greedy = files.map((_, i) => plain[i].segments.every(({ temperature }) => temperature === 0));
      const chosen = pairs
        .map(([mine, other], i) => ({ mine, other, plain: plain[i] }))
        .filter((_, i) => greedy[i]);
      const text = chosen.map(({ mine, plain: { text } }) => mine.text === text.trim());
      const same = chosen.filter((_, i) => text[i]);
      const segments = same.map(({ mine, plain: other }) => furthest(mine.segments, other.segments));
      const timed = same.map(({ mine, other }) =>
        furthest(
          mine.words ?? [],
          other.segments.flatMap(({ words }) => words),
        ),
      );
      return [
        equalRow(
          'detected language',
          pairs.map(([mine, other]) => mine.language === other.language),
        ),
        {
          what: 'files that openai-whisper decodes at temperature 0 (above, both programs draw at random)',
          figure: `${chosen.length} of ${files.length}`,
        },
        equalRow('text of these', text, unequalTexts(chosen)),
        differenceRow('times of segments, largest difference', segments),
        differenceRow('times of words, largest difference', timed),
      ];
    }),
};

/** The texts that differ, Lehr's first. */
const unequalTexts = (
  pairs: readonly { readonly mine: Transcript; readonly plain: OpenaiTranscript }[],
): string =>
  pairs
    .filter(({ mine, plain }) => mine.text !== plain.text.trim())
    .map(({ mine, plain }) => `"${mine.text}" and "${plain.text.trim()}"`)
    .join('; ');

/** When openai-whisper drew the tokens of all files at random. */
const NO_SPANISH_FILE: Row = {
  what: 'text of Spanish files in English',
  figure: 'not compared: openai-whisper drew all of them at random',
};

const translate: Comparison = {
  name: 'translate',
  title: 'Translation, beside openai-whisper',
  run: (bench) =>
    compared(bench, 'merged', async ({ ours, theirs }) => {
      const files = [...(await cleanSpeech(bench.cache)), ...(await espeakSpeech(bench.cache))].filter(
        ({ language }) => language === 'es',
      );
      const equal: boolean[] = [];
      const written: string[] = [];
      for (const spoken of files) {
        const mine = await ours(spoken, { task: 'translate' });
        const other = await theirs(spoken, { task: 'translate' });
        // Above temperature 0 both draw tokens at random.
        if (other.segments.some(({ temperature }) => temperature > 0)) continue;
        equal.push(mine.text === other.text.trim());
        written.push(mine.text);
      }
      if (equal.length === 0) return [NO_SPANISH_FILE];
      return [equalRow(`text of ${equal.length} Spanish files in English`, equal, written.join(' / '))];
    }),
};

const long: Comparison = {
  name: 'long',
  title: `A file of ${MINUTES} minutes, beside openai-whisper`,
  run: (bench) =>
    compared(bench, 'merged', async (sides) => {
      const spoken = await longSpeech(bench.cache, MINUTES);
      return [...(await withFallback(sides, spoken)), ...(await withoutFallback(sides, spoken))];
    }),
};

async function withFallback({ ours, theirs }: Sides, spoken: Spoken): Promise<Row[]> {
  const sequential = await ours(spoken, { language: 'en', mode: 'sequential' });
  const fast = await ours(spoken, { language: 'en', mode: 'fast' });
  const other = await theirs(spoken, { language: 'en' });
  const errors = (transcript: string): number => 100 * wordErrorRate([{ spoken: spoken.text, transcript }]);
  const drawn = other.segments.filter(({ temperature }) => temperature > 0).length;
  return [
    { what: 'words spoken', figure: wordsIn(spoken.text).length },
    {
      what: 'word errors, sequential',
      lehr: errors(sequential.text),
      other: errors(other.text),
      unit: '%',
      figure: errors(sequential.text) - errors(other.text),
    },
    {
      what: 'word errors, fast (cut at silences, in batches)',
      lehr: errors(fast.text),
      other: errors(other.text),
      unit: '%',
      figure: errors(fast.text) - errors(other.text),
    },
    { what: 'segments that openai-whisper draws at random', figure: `${drawn} of ${other.segments.length}` },
    {
      ...wordsApart('sequential: words that differ from openai-whisper', spoken, sequential, other),
      note: 'what either program draws at random is the prompt of the windows after it',
    },
  ];
}

/** Without a second try at a higher temperature nothing is drawn at random, so both programs must write the same. */
async function withoutFallback({ ours, theirs }: Sides, spoken: Spoken): Promise<Row[]> {
  const mine = await ours(spoken, { language: 'en', mode: 'sequential', temperature: GREEDY });
  const other = await theirs(spoken, { language: 'en', temperature: 0 });
  const theirSegments = other.segments.filter(({ text }) => text.trim() !== '');
  return [
    wordsApart('without fallback: words that differ', spoken, mine, other),
    equalRow('without fallback: whole text', [mine.text === other.text.trim()]),
    equalRow(
      'without fallback: texts of segments',
      mine.segments.map(({ text }, i) => text === theirSegments[i]?.text),
    ),
    differenceRow(
      'without fallback: times of segments, largest difference',
      mine.segments.length === theirSegments.length ? [furthest(mine.segments, theirSegments)] : [],
    ),
  ];
}

function wordsApart(what: string, spoken: Spoken, mine: Transcript, other: OpenaiTranscript): Row {
  const apart = wrongWords({ spoken: other.text, transcript: mine.text });
  return atMostRow(what, (100 * apart) / wordsIn(spoken.text).length, 1, '%');
}

export const wholeFileComparisons: readonly Comparison[] = [openai, translate, long];
