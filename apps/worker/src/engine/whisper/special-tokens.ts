/** The tokens that control Whisper: their ids in a model's files, the decoder's prompt made of them, and the language that they tell. */
import { LehrError } from '@lehr/shared';
import { z } from 'zod';

const tokenId = z.int().nonnegative();

/**
 * `generation_config.json` of a Whisper folder: how its authors decode.
 *
 * Older folders keep the token lists in config.json, and little in generation_config.json.
 */
export const GenerationSchema = z.looseObject({
  alignment_heads: z.array(z.tuple([z.int().nonnegative(), z.int().nonnegative()])).nullish(),
  begin_suppress_tokens: z.array(z.int()).nullish(),
  condition_on_prev_tokens: z.boolean().nullish(),
  decoder_start_token_id: tokenId.nullish(),
  eos_token_id: z.union([tokenId, z.array(tokenId).min(1)]).nullish(),
  is_multilingual: z.boolean().nullish(),
  lang_to_id: z.record(z.string(), tokenId).nullish(),
  max_initial_timestamp_index: z.int().nonnegative().nullish(),
  no_timestamps_token_id: tokenId.nullish(),
  prev_sot_token_id: tokenId.nullish(),
  suppress_tokens: z.array(z.int()).nullish(),
  task_to_id: z.record(z.string(), tokenId).nullish(),
});

export type GenerationConfig = z.output<typeof GenerationSchema>;

export interface SpecialTokens {
  /** `<|endoftext|>`; every id below it is text. */
  readonly end: number;
  /** `<|startoftranscript|>` */
  readonly start: number;
  /** `<|startofprev|>`: the text before the window follows. */
  readonly startOfPrevious: number;
  readonly noSpeech: number;
  readonly noTimestamps: number;
  /** `<|0.00|>`; each next id is 20 ms later. */
  readonly timestampBegin: number;
  /** Undefined for an English-only model, which takes neither language nor task. */
  readonly multilingual: MultilingualTokens | undefined;
}

interface MultilingualTokens {
  readonly transcribe: number;
  readonly translate: number;
  /** By language code. */
  readonly languages: ReadonlyMap<string, number>;
}

/** Seconds from one timestamp token to the next. */
export const TIMESTAMP_S = 0.02;
/** Mel frames from one timestamp token to the next. */
export const TIMESTAMP_FRAMES = 2;

/**
 * Takes ids from generation_config.json, else from the names of the tokenizer's added tokens, else from the order that
 * all Whisper vocabularies have: nospeech, notimestamps, timestamps. Throws LehrError `model-unavailable`.
 */
export function findSpecialTokens(
  generation: GenerationConfig,
  added: ReadonlyMap<string, number>,
): SpecialTokens {
  const known = (fromConfig: number | null | undefined, name: string): number => {
    const id = fromConfig ?? added.get(name);
    if (id === undefined) throw new LehrError('model-unavailable', `The tokenizer has no ${name}.`);
    return id;
  };
  const end = generation.eos_token_id;
  const noTimestamps = known(generation.no_timestamps_token_id, '<|notimestamps|>');
  // English-only vocabularies have language tokens too, but the models were not trained on them.
  const isMultilingual = generation.is_multilingual ?? Boolean(generation.lang_to_id);
  return {
    end: known(Array.isArray(end) ? end[0] : end, '<|endoftext|>'),
    start: known(generation.decoder_start_token_id, '<|startoftranscript|>'),
    startOfPrevious: known(generation.prev_sot_token_id, '<|startofprev|>'),
    // Named <|nocaptions|> in older files; always the id before <|notimestamps|>.
    noSpeech: added.get('<|nospeech|>') ?? added.get('<|nocaptions|>') ?? noTimestamps - 1,
    noTimestamps,
    timestampBegin: noTimestamps + 1,
    multilingual: isMultilingual
      ? {
          transcribe: known(generation.task_to_id?.transcribe, '<|transcribe|>'),
          translate: known(generation.task_to_id?.translate, '<|translate|>'),
          languages: languageTokens(generation, added),
        }
      : undefined,
  };
}

function languageTokens(
  { lang_to_id: fromConfig }: GenerationConfig,
  added: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const tokens = fromConfig ? Object.entries(fromConfig) : [...added];
  const found = tokens.flatMap(([name, id]) => {
    const code = /^<\|([a-z]{2,3})\|>$/.exec(name)?.[1];
    return code ? [[code, id] as const] : [];
  });
  return new Map(found);
}

interface TaskOptions {
  /** Undefined only for an English-only model, which takes no language. */
  readonly language: string | undefined;
  readonly translate: boolean;
  readonly timestamps: boolean;
}

/**
 * The tokens between `<|startoftranscript|>` and the first token that the decoder writes. Throws LehrError
 * `invalid-input` for what the model cannot do.
 */
export function taskTokens(
  special: SpecialTokens,
  { language, translate, timestamps }: TaskOptions,
): readonly number[] {
  const last = timestamps ? [] : [special.noTimestamps];
  const { multilingual } = special;
  if (!multilingual) {
    if (translate) throw refusal('/input/task', 'This model supports only English and cannot translate.');
    if (language !== undefined && language !== 'en') {
      throw refusal('/input/language', `This model supports only English, not "${language}".`);
    }
    return last;
  }
  const token = multilingual.languages.get(language ?? '');
  if (token === undefined) {
    const codes = [...multilingual.languages.keys()].join(', ');
    throw refusal(
      '/input/language',
      `This model does not support the language "${language}". It supports: ${codes}.`,
    );
  }
  return [token, translate ? multilingual.translate : multilingual.transcribe, ...last];
}

const refusal = (pointer: string, detail: string): LehrError =>
  new LehrError('invalid-input', detail, { problems: [{ pointer, detail }] });

/** The most likely language, from the logits after `<|startoftranscript|>`. Undefined when they are all NaN. */
export function likeliestLanguage(
  logits: Float32Array,
  { languages }: MultilingualTokens,
): string | undefined {
  let best: string | undefined;
  let bestLogit = Number.NEGATIVE_INFINITY;
  for (const [code, token] of languages) {
    if (logits[token] > bestLogit) {
      best = code;
      bestLogit = logits[token];
    }
  }
  return best;
}
