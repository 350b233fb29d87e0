/** The tokens that the decoder reads before it writes the text of a window: previous text, start, language and task. */
import { LehrError } from '@lehr/shared';
import type { WhisperModel } from '../../models/whisper/whisper-folder.ts';
import { taskTokens } from '../../whisper/special-tokens.ts';
import type { WhisperSample } from '../protocol.ts';

export class WindowPrompt {
  /** Undefined until it is detected, when the request has none. */
  language: string | undefined;
  /** `<|startofprev|>` and the end of the text before the window; may be empty. */
  readonly previous: readonly number[];
  readonly #request: WhisperSample;
  readonly #model: WhisperModel;

  /** Throws LehrError `invalid-input` for what this model cannot do. */
  constructor(request: WhisperSample, model: WhisperModel) {
    const { multilingual } = model.tokenizer.special;
    this.#request = request;
    this.#model = model;
    if (request.timestamps === 'word' && !model.alignment) {
      const detail = 'this model was exported without cross-attentions and cannot time words';
      throw new LehrError('invalid-input', `input.timestamps: ${detail}.`, {
        problems: [{ pointer: '/input/timestamps', detail }],
      });
    }
    if (request.language !== null) this.language = request.language;
    else if (!multilingual) this.language = 'en';
    this.previous = previousTokens(request, model);
    // Throws now, before the encoder runs; while the language is unknown, any language shows whether the task is possible.
    this.#taskTokens(this.language ?? [...(multilingual?.languages.keys() ?? [])][0]);
  }

  /** Only `<|startoftranscript|>` while the language is unknown. */
  get tokens(): readonly number[] {
    const { start } = this.#model.tokenizer.special;
    if (this.language === undefined) return [start];
    return [...this.previous, start, ...this.task];
  }

  /** The tokens after `<|startoftranscript|>`. The language must be known. */
  get task(): readonly number[] {
    return this.#taskTokens(this.language);
  }

  #taskTokens(language: string | undefined): readonly number[] {
    const { translate, timestamps } = this.#request;
    const options = { language, translate, timestamps: timestamps !== 'none' };
    return taskTokens(this.#model.tokenizer.special, options);
  }
}

/** At most half of the decoder's context. */
function previousTokens(
  request: WhisperSample,
  { tokenizer, conditionsOnPrevious, decoder }: WhisperModel,
): number[] {
  const room = Math.floor(decoder.sizes.maxTokens / 2) - 1;
  const prompt = request.prompt.trim();
  const text = prompt === '' ? [] : tokenizer.encodeEnd(` ${prompt}`, room);
  const earlier = conditionsOnPrevious ? request.previousTokens : [];
  const tokens = [...text, ...earlier].slice(-room);
  return tokens.length > 0 ? [tokenizer.special.startOfPrevious, ...tokens] : [];
}
