/**
 * One window of audio in the engine: its audio features, its text so far and its next token. It shares nothing with the
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
import type {
  TranscribedMessage,
  WhisperSample,
  WindowSegment,
  WindowWord,
} from '../../protocol/messages.ts';
import {
  compressionRatio,
  isSilence,
  mayBeSilence,
  needsFallback,
  type Quality,
  temperatureLadder,
} from '../fallback.ts';
import type { WhisperModel } from '../folder/whisper-folder.ts';
import { type Choice, chooseLikeliest, drawToken, probabilityOf, SeededUniform } from '../logit-rules.ts';
import type { FloatData } from '../row-buffer.ts';
import { justEnded, type ReadingOptions, readWindow } from '../segments.ts';
import { likeliestLanguage } from '../special-tokens.ts';
import type { TextToTime } from '../word-times.ts';
import { WindowPrompt } from './window-prompt.ts';

export class WhisperWindow {
  readonly request: WhisperSample;
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
  #features: FloatData | undefined;
  readonly #temperatures: readonly number[];
  readonly #maxTokens: number;
  readonly #prompt: WindowPrompt;
  #promptLength = 0;
  #attempt = 0;
  /** Tokens of the prompt that the batch has not read yet. */
  #pending: number[] = [];
  #written: number[] = [];
  #next = 0;
  /** Number of tokens chosen in this attempt, end token included, and the sum of their log-probabilities. */
  #choices = 0;
  #logProbabilities = 0;
  #noSpeechProbability = 0;
  #uniform: SeededUniform;
  /** Windows that shared this one's decoder calls, summed over its calls. */
  #batchSizeSum = 0;
  #calls = 0;

  /** Throws LehrError `invalid-input` for what this model cannot do. */
  constructor(request: WhisperSample, model: WhisperModel, arrivedAt: number) {
    this.request = request;
    this.arrivedAt = arrivedAt;
    this.#model = model;
    this.#temperatures = temperatureLadder(request.temperature, request.fallback);
    this.#uniform = new SeededUniform(request.seed);
    this.#maxTokens = request.maxTokens ?? Math.floor(model.decoder.sizes.maxTokens / 2);
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

  /** Number of tokens written so far. */
  get tokens(): number {
    return this.#written.length;
  }

  /** The token that the next call reads. */
  get nextToken(): number {
    return this.#next;
  }

  get #temperature(): number {
    return this.#temperatures[this.#attempt];
  }

  /**
   * The decoder has read the prompt; `logits` are those after one of its tokens. False when the window must start again,
   * because its language is known only now and its prompt has more tokens before `<|startoftranscript|>`.
   */
  start(prompt: readonly number[], logits: (position: number) => Float32Array): boolean {
    const { special } = this.#model.tokenizer;
    const position = prompt.indexOf(special.start);
    this.#promptLength = prompt.length;
    this.#noSpeechProbability = probabilityOf(logits(position), special.noSpeech);
    if (this.#prompt.language === undefined && special.multilingual) {
      this.#prompt.language = likeliestLanguage(logits(position), special.multilingual);
      if (this.#prompt.language === undefined)
        throw new LehrError('numeric-error', 'The logits of all languages are NaN.');
      if (this.#prompt.previous.length > 0) return false;
      this.#promptLength = this.prompt.length;
      this.#pending = [...this.#prompt.task];
      this.#next = this.#pending.shift() ?? special.start;
      return true;
    }
    this.#write(logits(prompt.length - 1));
    return true;
  }

  /** A call has read the next token; `logits` are those after it. */
  advance(logits: Float32Array, batchSize: number): void {
    this.#batchSizeSum += batchSize;
    this.#calls += 1;
    const pending = this.#pending.shift();
    if (pending === undefined) this.#write(logits);
    else this.#next = pending;
  }

  /** Whether the text has ended, or has reached its limit. */
  get hasEnded(): boolean {
    if (this.#choices === 0) return false;
    const { tokenizer, decoder } = this.#model;
    // The last token is written and not read, so it needs no place in the context.
    const isFull = this.#promptLength + this.#written.length > decoder.sizes.maxTokens;
    return this.#next === tokenizer.special.end || isFull || this.#written.length >= this.#maxTokens;
  }

  /** True when the text is bad and a higher temperature is left; the window is then reset for it. */
  retry(): boolean {
    if (this.#attempt + 1 >= this.#temperatures.length || !needsFallback(this.#quality())) return false;
    this.#attempt += 1;
    this.#written = [];
    this.#choices = 0;
    this.#logProbabilities = 0;
    return true;
  }

  /** The segment that the newest token ended. */
  justEnded(): { readonly segment: WindowSegment; readonly provisional: boolean } | undefined {
    // A call that read a token of the prompt has not written one.
    const segment = this.#next === this.#written.at(-1) && justEnded(this.#written, this.#readingOptions());
    if (!segment) return undefined;
    const isLast = this.#attempt + 1 === this.#temperatures.length;
    return { segment, provisional: !isLast || mayBeSilence(this.#noSpeechProbability) };
  }

  /** To be called when the window has ended. */
  result(words?: readonly WindowWord[]): TranscribedMessage {
    const quality = this.#quality();
    const { arrivedAt, encodedAt, startedAt, decodedAt, deviceMs } = this;
    const { segments, advanceFrames } = this.#read();
    const tokens = segments.flatMap((segment) => segment.tokens);
    const temperature = this.#temperature;
    return {
      type: 'transcribed',
      sample: this.request.id,
      segments,
      ...(words && { words }),
      tokens,
      nextContext: this.#prompt.nextContext({ tokens, temperature, isSilence: isSilence(quality) }),
      language: this.language,
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
  get language(): string {
    return this.#prompt.language ?? 'en';
  }

  /** The text whose words must be timed; undefined when the request wants no word times, or there is no speech. */
  get textToTime(): TextToTime | undefined {
    const { segments } = this.#read();
    if (this.request.timestamps !== 'word' || segments.length === 0) return undefined;
    const { features, language } = this;
    const { start, noTimestamps } = this.#model.tokenizer.special;
    const task = this.#prompt.task.filter((id) => id !== noTimestamps);
    const { contentFrames } = this.request;
    return { features, contentFrames, language, prompt: [start, ...task], segments };
  }

  #read(): { readonly segments: readonly WindowSegment[]; readonly advanceFrames: number } {
    const { contentFrames } = this.request;
    if (isSilence(this.#quality())) return { segments: [], advanceFrames: contentFrames };
    return readWindow(this.#written, this.#readingOptions());
  }

  #write(logits: Float32Array): void {
    const { rules } = this.#model;
    rules.apply(logits, this.#written, this.request.timestamps !== 'none');
    const choice = this.#choose(logits);
    this.#choices += 1;
    this.#logProbabilities += choice.logProbability;
    this.#next = choice.token;
    if (choice.token !== this.#model.tokenizer.special.end) this.#written.push(choice.token);
  }

  #choose(logits: Float32Array): Choice {
    if (this.#temperature === 0) return chooseLikeliest(logits);
    return drawToken(logits, this.#temperature, this.#uniform.next());
  }

  #quality(): Quality {
    const text = this.#model.tokenizer.decode(this.#written).trim();
    return {
      avgLogProbability: this.#logProbabilities / (this.#written.length + 1),
      compressionRatio: compressionRatio(text),
      noSpeechProbability: this.#noSpeechProbability,
    };
  }

  #readingOptions(): ReadingOptions {
    const { tokenizer, frontEnd } = this.#model;
    return {
      special: tokenizer.special,
      contentFrames: this.request.contentFrames,
      frameSeconds: frontEnd.hopLength / frontEnd.sampleRate,
      timestamps: this.request.timestamps !== 'none',
      decode: (tokens) => tokenizer.decode(tokens),
    };
  }
}
