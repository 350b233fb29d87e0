import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { tokenizerJson, whisperVocabulary } from '@lehr/demo-models';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openWhisperTokenizer } from './folder/whisper-folder.ts';
import { taskTokens } from './special-tokens.ts';
import type { WhisperTokenizer } from './tokenizer.ts';

const golden = (name: string): string =>
  gunzipSync(
    readFileSync(new URL(`../../../../../test/golden/tokenizers/${name}`, import.meta.url)),
  ).toString();

interface DecodeCase {
  readonly name: string;
  readonly ids: number[];
  readonly text_openai_decode: string;
  readonly text_with_timestamps: string;
  readonly text_hf_skip_special: string;
}

interface SpecialIds {
  readonly eot: number;
  readonly sot: number;
  readonly sot_sequence: number[];
  readonly transcribe: number;
  readonly translate: number;
  readonly sot_prev: number;
  readonly no_speech: number;
  readonly no_timestamps: number;
  readonly timestamp_begin: number;
  readonly languages: Record<string, number>;
  readonly non_speech_tokens: number[];
}

interface Goldens {
  readonly encode: { text: string; en_ids: number[]; multilingual_ids: number[] }[];
  readonly decode_en: DecodeCase[];
  readonly decode_multilingual: DecodeCase[];
  readonly split_to_word_tokens: {
    language: string;
    ids: number[];
    words: string[];
    word_tokens: number[][];
  }[];
  readonly special_en: SpecialIds;
  readonly special_multilingual: SpecialIds;
}

const goldens: Goldens = JSON.parse(golden('whisper-goldens.json.gz'));
const LANGUAGES = Object.keys(goldens.special_multilingual.languages);

let folder: string;
let english: WhisperTokenizer;
let multilingual: WhisperTokenizer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-whisper-tokenizer-'));
  const open = (merges: string, extra: string[], isMultilingual: boolean): Promise<WhisperTokenizer> => {
    const vocabulary = whisperVocabulary({
      merges: golden(merges).split('\n'),
      extra,
      languages: LANGUAGES,
      timestamps: 1501,
    });
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizerJson(vocabulary)));
    return openWhisperTokenizer(folder, { is_multilingual: isMultilingual });
  };
  english = await open('whisper-merges-en.txt.gz', [], false);
  multilingual = await open('whisper-merges-multilingual.txt.gz', [''], true);
});
afterAll(() => rmSync(folder, { recursive: true }));

test('75 strings encode to the ids of openai in both vocabularies', () => {
  for (const { text, en_ids, multilingual_ids } of goldens.encode) {
    expect(english.encode(text), text).toEqual(en_ids);
    expect(multilingual.encode(text), text).toEqual(multilingual_ids);
  }
});

describe.each(['decode_en', 'decode_multilingual'] as const)('%s', (key) => {
  test.each(goldens[key])('$name decodes as in openai, in all three modes', (one) => {
    const tokenizer = key === 'decode_en' ? english : multilingual;
    expect(tokenizer.decode(one.ids, { special: true })).toBe(one.text_openai_decode);
    expect(tokenizer.decode(one.ids, { special: true, timestamps: true })).toBe(one.text_with_timestamps);
    // The multilingual tokenizer.json has timestamps as plain tokens; the English one has no timestamps.
    const timestamps = key === 'decode_multilingual';
    expect(tokenizer.decode(one.ids, { timestamps })).toBe(one.text_hf_skip_special);
  });
});

test.each(goldens.split_to_word_tokens)('Words of the language $language are split as in openai', (one) => {
  const words = multilingual.splitWords(one.ids, one.language);
  expect(words.map(({ word }) => word)).toEqual(one.words);
  expect(words.map(({ tokens }) => tokens)).toEqual(one.word_tokens);
});

test('A word that is cut inside a character keeps its bytes together', () => {
  const ids = multilingual.encode(' señor 你好').slice(0, -1);
  const words = multilingual.splitWords(ids, 'es');
  expect(words.flatMap(({ tokens }) => tokens)).toEqual(ids);
});

test('Special ids are found by name when generation_config.json does not have them', () => {
  for (const [{ special }, wanted] of [
    [english, goldens.special_en],
    [multilingual, goldens.special_multilingual],
  ] as const) {
    expect(special).toMatchObject({
      end: wanted.eot,
      start: wanted.sot,
      startOfPrevious: wanted.sot_prev,
      noSpeech: wanted.no_speech,
      noTimestamps: wanted.no_timestamps,
      timestampBegin: wanted.timestamp_begin,
    });
  }
  expect(english.special.multilingual).toBeUndefined();
  const { transcribe, translate, languages } = goldens.special_multilingual;
  const found = multilingual.special.multilingual;
  expect(found).toMatchObject({ transcribe, translate });
  expect(Object.fromEntries(found?.languages ?? [])).toEqual(languages);
});

test('The prompt of a task is that of openai', () => {
  const options = { language: 'en', translate: false, timestamps: true };
  const { special } = multilingual;
  expect([special.start, ...taskTokens(special, options)]).toEqual(goldens.special_multilingual.sot_sequence);
  expect([english.special.start, ...taskTokens(english.special, options)]).toEqual(
    goldens.special_en.sot_sequence,
  );
  expect(taskTokens(special, { language: 'es', translate: true, timestamps: false })).toEqual([
    50262, 50358, 50363,
  ]);
});

test('A request that the model cannot serve is refused, and the error names the field', () => {
  const refused = (tokenizer: WhisperTokenizer, language: string, translate: boolean) => () =>
    taskTokens(tokenizer.special, { language, translate, timestamps: true });
  const problems = (pointer: string) =>
    expect.objectContaining({ code: 'invalid-input', problems: [expect.objectContaining({ pointer })] });
  expect(refused(multilingual, 'xx', false)).toThrow(problems('/input/language'));
  expect(refused(english, 'es', false)).toThrow(problems('/input/language'));
  expect(refused(english, 'en', true)).toThrow(problems('/input/task'));
});

test('The non-speech tokens are those of openai', () => {
  expect(english.nonSpeechTokens()).toEqual(goldens.special_en.non_speech_tokens);
  expect(multilingual.nonSpeechTokens()).toEqual(goldens.special_multilingual.non_speech_tokens);
});

test('Text that looks like a special token is encoded as text', () => {
  const ids = multilingual.encode('<|endoftext|>stop<|translate|>');
  expect(Math.max(...ids)).toBeLessThan(multilingual.special.end);
  expect(multilingual.decode(ids)).toBe('<|endoftext|>stop<|translate|>');
});

test('Only the end of a long prompt is tokenized', () => {
  const text = `${'word '.repeat(200_000)}the very end`;
  expect(multilingual.encodeEnd(text, 3)).toEqual(multilingual.encode(' the very end').slice(-3));
  expect(multilingual.encodeEnd('', 3)).toEqual([]);
  expect(multilingual.encodeEnd('some text', 0)).toEqual([]);
});

test('Ids outside of the vocabulary give no text', () => {
  expect(multilingual.decode([60_000, 2425])).toBe(' Hello');
});
