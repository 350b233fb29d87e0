/** A byte-level BPE vocabulary in the layout of Whisper's tokenizer.json: bytes, a few words, special tokens. */
import { byteAlphabet } from '../diffusion/tiny-tokenizer.ts';

const WORDS = [
  'the',
  'a',
  'and',
  'in',
  'is',
  'of',
  'to',
  'red',
  'cat',
  'house',
  'hello',
  'world',
  'la',
  'casa',
];
/** A blank, as byte-level BPE writes it. */
const BLANK = 'Ġ';

export interface WhisperVocabulary {
  readonly tokens: Record<string, number>;
  readonly merges: readonly string[];
  /** `<|endoftext|>` and the tokens after it, without timestamps. */
  readonly special: readonly string[];
  /** Id of `<|endoftext|>`. */
  readonly endToken: number;
  readonly size: number;
}

export interface VocabularyPlan {
  /** Merges in the order of their application, one vocabulary entry each; by default those of a few words. */
  readonly merges?: readonly string[];
  /** Text entries without a merge. */
  readonly extra?: readonly string[];
  readonly languages: readonly string[];
  /** Number of timestamp tokens, which tokenizer.json does not list. */
  readonly timestamps: number;
}

/**
 * Ids in Whisper's order: text, end, start, languages, translate, transcribe, startoflm, startofprev, nospeech,
 * notimestamps, timestamps.
 */
export function whisperVocabulary(plan: VocabularyPlan): WhisperVocabulary {
  const merges = plan.merges ?? wordMerges();
  const entries = [
    ...byteAlphabet(),
    ...merges.map((merge) => merge.replace(' ', '')),
    ...(plan.extra ?? []),
  ];
  const special = [
    '<|endoftext|>',
    '<|startoftranscript|>',
    ...plan.languages.map((code) => `<|${code}|>`),
    ...['translate', 'transcribe', 'startoflm', 'startofprev', 'nospeech', 'notimestamps'].map(
      (name) => `<|${name}|>`,
    ),
  ];
  return {
    tokens: Object.fromEntries(entries.map((entry, id) => [entry, id])),
    merges,
    special,
    endToken: entries.length,
    size: entries.length + special.length + plan.timestamps,
  };
}

/** This many entries of two bytes each that are not part of the words. */
export function fillerEntries(count: number): string[] {
  const alphabet = byteAlphabet();
  const used = new Set(wordMerges().map((merge) => merge.replace(' ', '')));
  const pairs = alphabet.flatMap((first) => alphabet.map((second) => first + second));
  return pairs.filter((pair) => !used.has(pair)).slice(0, count);
}

/** Merges that build each word from the left, alone and after a blank. */
function wordMerges(): string[] {
  const merges = new Set<string>();
  for (const word of WORDS) {
    let built = word[0];
    for (const letter of word.slice(1)) {
      merges.add(`${built} ${letter}`);
      built += letter;
    }
    merges.add(`${BLANK} ${built}`);
  }
  return [...merges];
}

export function tokenizerJson({ tokens, merges, special, endToken }: WhisperVocabulary): object {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special.map((content, i) => ({ id: endToken + i, content, ...flags })),
    normalizer: null,
    pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      vocab: tokens,
      merges,
    },
  };
}
