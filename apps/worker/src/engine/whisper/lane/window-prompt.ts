/** The tokens that the decoder reads before it writes the text of a window: previous text, start, language and task. */
import { LehrError } from '@lehr/shared';
import type { WhisperSample } from '../../protocol/messages.ts';
import type { WhisperModel } from '../folder/whisper-folder.ts';
import { taskTokens } from '../special-tokens.ts';

/** A text decoded above this temperature is often wrong: neither it nor the text before it is told to the windows after it. */
const MAX_TEMPERATURE_TOLD = 0.5;

export interface EndOfWindow {
  /** Of its segments. */
  readonly tokens: readonly number[];
  /** At which it was decoded. */
  readonly temperature: number;
  readonly isSilence: boolean;
}

export class WindowPrompt {
  /** Undefined until it is detected, when the request has none. */
  language: string | undefined;
  /** `<|startofprev|>` and the end of the text before the window; may be empty. */
  readonly previous: readonly number[];
  /** `previous` without `<|startofprev|>`. */
  readonly #told: readonly number[];
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
    this.#told = toldTokens(request, model);
    this.previous = this.#told.length > 0 ? [model.tokenizer.special.startOfPrevious, ...this.#told] : [];
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

  /**
   * What the next window of the file is told: what this one was told and the tokens of its segments, as much as fits. A window without
   * speech adds nothing and takes nothing away. As openai/whisper's transcribe.py.
   */
  nextContext({ tokens, temperature, isSilence }: EndOfWindow): readonly number[] {
    if (isSilence) return this.#told;
    if (!this.#model.conditionsOnPrevious || temperature > MAX_TEMPERATURE_TOLD) return [];
    return [...this.#told, ...tokens].slice(-roomForTold(this.#model));
  }

  #taskTokens(language: string | undefined): readonly number[] {
    const { translate, timestamps } = this.#request;
    const options = { language, translate, timestamps: timestamps !== 'none' };
    return taskTokens(this.#model.tokenizer.special, options);
  }
}

/** The text before a window, at most half of the decoder's context. */
function toldTokens({ prompt, previousTokens }: WhisperSample, model: WhisperModel): number[] {
  const room = roomForTold(model);
  const text = prompt.trim();
  const tokens = text === '' ? [] : model.tokenizer.encodeEnd(` ${text}`, room);
  return [...tokens, ...previousTokens].slice(-room);
}

const roomForTold = ({ decoder }: WhisperModel): number => Math.floor(decoder.sizes.maxTokens / 2) - 1;
