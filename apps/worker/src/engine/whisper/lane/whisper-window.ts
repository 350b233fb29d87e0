/**
 * One window of audio in the engine: what was asked for, its audio features, its prompt and its text. It shares nothing with the
 * other windows of a batch.
 *
 *   waiting -> encoded -> started -> decoding -> [timing words] -> done
 *                 ^                     |
 *                 +------ bad text -----+     decoded again at the next temperature
 *
 * A window without a given language starts with `<|startoftranscript|>` alone, whose logits give the language; the rest of
 * its prompt then goes through the batch token by token.
 */
import { LehrError } from '@lehr/shared';
import type { TranscribedMessage, WhisperSample, WindowWord } from '../../protocol/messages.ts';
import { isSilence } from '../fallback.ts';
import type { WhisperModel } from '../folder/whisper-folder.ts';
import { probabilityOf } from '../logit-rules.ts';
import type { FloatData } from '../row-buffer.ts';
import { likeliestLanguage } from '../special-tokens.ts';
import type { TextToTime } from '../word-times.ts';
import { WindowPrompt } from './window-prompt.ts';
import { WindowText } from './window-text.ts';

export class WhisperWindow {
  readonly request: WhisperSample;
  readonly text: WindowText;
  /** This and the other times are on the engine's monotonic clock. */
  readonly arrivedAt: number;
  encodedAt = 0;
  startedAt = 0;
  decodedAt = 0;
  /** Device time of its turns: of each its share. */
  deviceMs = 0;
  /** Cancelled or failed: nothing more of it is posted, and the lane removes it at the next turn. */
  isDropped = false;
  readonly #model: WhisperModel;
  readonly #prompt: WindowPrompt;
  #features: FloatData | undefined;
  /** Windows that shared this one's decoder calls, summed over its calls. */
  #batchSizeSum = 0;
  #calls = 0;

  /** Throws LehrError `invalid-input` for what this model cannot do. */
  constructor(request: WhisperSample, model: WhisperModel, arrivedAt: number) {
    this.request = request;
    this.arrivedAt = arrivedAt;
    this.#model = model;
    this.text = new WindowText(request, model);
    this.#prompt = new WindowPrompt(request, model);
  }

  get maxBatchMates(): number {
    return this.request.maxBatchMates;
  }

  get features(): FloatData {
    if (!this.#features) throw new Error('A window has not been encoded yet. This is a bug in Lehr.');
    return this.#features;
  }

  setFeatures(features: FloatData, encodedAt: number): void {
    this.#features = features;
    this.encodedAt = encodedAt;
  }

  /** The tokens that the decoder reads before it writes; only the first one while the language is unknown. */
  get prompt(): readonly number[] {
    return this.#prompt.tokens;
  }

  /**
   * The decoder has read the prompt; `logits` are those after one of its tokens. False when the window must start again,
   * because its language is known only now and its prompt has more tokens before `<|startoftranscript|>`.
   */
  start(prompt: readonly number[], logits: (position: number) => Float32Array): boolean {
    const { special } = this.#model.tokenizer;
    const first = logits(prompt.indexOf(special.start));
    const noSpeechProbability = probabilityOf(first, special.noSpeech);
    if (this.#prompt.language === undefined && special.multilingual) {
      this.#prompt.language = likeliestLanguage(first, special.multilingual);
      if (this.#prompt.language === undefined)
        throw new LehrError('numeric-error', 'The logits of all languages are NaN.');
      if (this.#prompt.previous.length > 0) return false;
      this.text.begin(this.prompt.length, noSpeechProbability);
      this.text.readBefore(this.#prompt.task);
      return true;
    }
    this.text.begin(prompt.length, noSpeechProbability);
    this.text.write(logits(prompt.length - 1));
    return true;
  }

  /** A call has read the next token; `logits` are those after it. */
  advance(logits: Float32Array, batchSize: number): void {
    this.#batchSizeSum += batchSize;
    this.#calls += 1;
    this.text.advance(logits);
  }

  /** To be called when the window has ended. */
  result(words?: readonly WindowWord[]): TranscribedMessage {
    const quality = this.text.quality();
    const { arrivedAt, encodedAt, startedAt, decodedAt, deviceMs } = this;
    const { segments, advanceFrames } = this.text.read();
    const { temperature } = this.text;
    const tokens = segments.flatMap((segment) => segment.tokens);
    return {
      type: 'transcribed',
      sample: this.request.id,
      segments,
      ...(words && { words }),
      tokens,
      nextContext: this.#prompt.nextContext({ tokens, temperature, isSilence: isSilence(quality) }),
      language: this.#language,
      advanceFrames,
      temperature,
      ...quality,
      batchSize: this.#calls === 0 ? 1 : this.#batchSizeSum / this.#calls,
      timings: {
        encodedAt: encodedAt - arrivedAt,
        startedAt: startedAt - arrivedAt,
        decodedAt: decodedAt - arrivedAt,
        deviceMs,
      },
    };
  }

  /** Known once the window has started. */
  get #language(): string {
    return this.#prompt.language ?? 'en';
  }

  /** The text whose words must be timed; undefined when the request wants no word times, or there is no speech. */
  get textToTime(): TextToTime | undefined {
    const { segments } = this.text.read();
    if (this.request.timestamps !== 'word' || segments.length === 0) return undefined;
    const { start, noTimestamps } = this.#model.tokenizer.special;
    const task = this.#prompt.task.filter((id) => id !== noTimestamps);
    return {
      features: this.features,
      contentFrames: this.request.contentFrames,
      language: this.#language,
      prompt: [start, ...task],
      segments,
    };
  }
}
