/** Lehr's tokens beside those of transformers and of openai-whisper on the same files. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { logMelWindow } from '../../../apps/worker/src/parent/audio/log-mel.ts';
import { openWhisperEngine } from '../../../test/support/whisper-engine.ts';
import type { PythonProgram } from '../python.ts';
import { equalRow } from '../rows.ts';
import type { Bench, Comparison, Row } from '../section.ts';
import { KeptAnswers } from './kept-answers.ts';
import { ENVIRONMENT, type Form, type Models, whisperModels } from './models.ts';
import { cleanSpeech, espeakSpeech, type Spoken } from './speech.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
export const REFERENCE = 'lab/real/whisper/reference.py';

export interface Written {
  readonly tokens: readonly number[];
  readonly language: string | null;
  readonly text: string;
}

export interface Options {
  readonly timestamps: boolean;
  readonly task?: 'transcribe' | 'translate';
  /** Detect the language instead of passing it. */
  readonly detect?: boolean;
}

/** All files at once, in shared batches, or one after the other. */
export async function byLehr(
  folder: string,
  files: readonly Spoken[],
  options: Options,
  together = true,
): Promise<Written[]> {
  const lehr = await openWhisperEngine(folder, { rowCap: 8, threads: 1 });
  try {
    const { frontEnd } = lehr.abilities;
    const windows = files.map(({ waveform, language }) => ({
      mel: logMelWindow(waveform, 0, frontEnd),
      contentFrames: Math.min(frontEnd.windowFrames, Math.ceil(waveform.length / frontEnd.hopLength)),
      language: options.detect ? null : language,
      translate: options.task === 'translate',
      timestamps: options.timestamps ? ('segment' as const) : ('none' as const),
    }));
    const results = [];
    if (together) results.push(...(await lehr.write(windows)));
    else for (const window of windows) results.push(...(await lehr.write([window])));
    return results.map(({ tokens, language, segments }) => ({
      tokens,
      language: `<|${language}|>`,
      text: segments.map(({ text }) => text).join(''),
    }));
  } finally {
    await lehr.close();
  }
}

type Reference = 'generate' | 'decode';

/** `generate` is of transformers, `decode` of openai-whisper. */
export const request = (
  reference: Reference,
  files: readonly Spoken[],
  { timestamps, task = 'transcribe', detect }: Options,
) => ({
  do: reference,
  timestamps,
  files: files.map(({ file, language }) => ({ file, task, ...(!detect && { language }) })),
});

export const sameTokens = (ours: readonly Written[], theirs: readonly Written[]): boolean[] =>
  ours.map(({ tokens }, i) => tokens.join() === theirs[i].tokens.join());

/** Opens the forms, and the reference program at its first request: it takes long to start. */
export async function withReference<Result>(
  bench: Bench,
  forms: readonly Form[],
  work: (parts: { models: Models; ask: PythonProgram['ask'] }) => Promise<Result>,
): Promise<Result> {
  const models = await whisperModels(bench, forms);
  let opened: Promise<PythonProgram> | undefined;
  const ask: PythonProgram['ask'] = async (asked) => {
    opened ??= bench.openPython(REFERENCE);
    return (await opened).ask(asked);
  };
  try {
    return await work({ models, ask });
  } finally {
    await (await opened)?.close();
  }
}

const weights: Comparison = {
  name: 'weights',
  title: 'The weights',
  run: async (bench) => {
    const { weights: found } = await whisperModels(bench, []);
    return [
      { what: 'tensors in the packages, including settings', figure: found.tensors },
      {
        what: 'parameters, loaded into the published architecture without a missing or surplus one',
        figure: `${found.parameters}`,
        wanted: '72593920',
        met: found.parameters === 72_593_920 && found.finite,
      },
      { what: 'type of the published weights; every program below gets the same values', figure: found.type },
    ];
  },
};

/** What Lehr and the two references write for the same files, each window once. */
const onAll = (bench: Bench, name: string, files: readonly Spoken[], options: Options) =>
  withReference(bench, ['merged'], async ({ models, ask }) => {
    const folder = models.folder('weights');
    const kept = await KeptAnswers.open<Written>(join(bench.cache, 'references.json'));
    const versions = await readFile(join(ROOT, ENVIRONMENT.requirements), 'utf8');
    const written = (reference: Reference, spoken: Spoken): Promise<Written> => {
      const { file: _, ...asked } = request(reference, [spoken], options).files[0];
      const audio = createHash('sha256').update(spoken.waveform).digest('hex');
      return kept.answer([reference, options.timestamps, asked, audio, versions], async () => {
        const [answer] = await ask<Written[]>({ ...request(reference, [spoken], options), folder });
        return answer;
      });
    };
    const references = async () => {
      const sides = { transformers: [] as Written[], openai: [] as Written[] };
      for (const spoken of files) {
        sides.transformers.push(await written('generate', spoken));
        sides.openai.push(await written('decode', spoken));
      }
      return sides;
    };
    const [theirs, lehr] = await Promise.all([references(), byLehr(models.folder('merged'), files, options)]);
    const sides = { ...theirs, lehr };
    // For whoever looks for the reason of a difference.
    const names = files.map(({ name }) => name);
    await writeFile(join(bench.cache, `${name}.json`), JSON.stringify({ names, ...sides }));
    return sides;
  });

const besideBoth = (
  what: string,
  { lehr, transformers, openai }: Awaited<ReturnType<typeof onAll>>,
  equal: (ours: readonly Written[], theirs: readonly Written[]) => boolean[],
): Row[] => [
  equalRow(`${what}: equal to transformers`, equal(lehr, transformers)),
  equalRow(`${what}: equal to openai-whisper`, equal(lehr, openai)),
];

const allFiles = async ({ cache }: Bench): Promise<Spoken[]> => [
  ...(await cleanSpeech(cache)),
  ...(await espeakSpeech(cache)),
];

const tokens: Comparison = {
  name: 'tokens',
  title: 'Tokens with timestamps and all rules, beside PyTorch (float32)',
  run: async (bench) => {
    const files = await allFiles(bench);
    const sides = await onAll(bench, 'tokens', files, { timestamps: true });
    return besideBoth(`${files.length} windows in shared batches`, sides, sameTokens);
  },
};

const translated: Comparison = {
  name: 'translated-tokens',
  title: 'Spanish translated to English, beside PyTorch (float32)',
  run: async (bench) => {
    const files = (await allFiles(bench)).filter(({ language }) => language === 'es');
    const sides = await onAll(bench, 'translated-tokens', files, { timestamps: true, task: 'translate' });
    return besideBoth(`${files.length} windows in shared batches`, sides, sameTokens);
  },
};

const sameLanguage = (ours: readonly Written[], theirs: readonly Written[]): boolean[] =>
  ours.map(({ language }, i) => language === theirs[i].language);

const detected: Comparison = {
  name: 'detected-language',
  title: 'Language detected, and tokens without timestamps, beside PyTorch (float32)',
  run: async (bench) => {
    const files = await cleanSpeech(bench.cache);
    const sides = await onAll(bench, 'detected-language', files, { timestamps: false, detect: true });
    return [...besideBoth('language', sides, sameLanguage), ...besideBoth('tokens', sides, sameTokens)];
  },
};

export const tokenComparisons: readonly Comparison[] = [weights, tokens, translated, detected];
