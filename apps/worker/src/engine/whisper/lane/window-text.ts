/** The text of a window: the tokens written so far, the next one, and how likely they are. A bad text is written again. */
import type { WhisperSample, WindowSegment } from '../../protocol/messages.ts';
import {
  compressionRatio,
  isSilence,
  mayBeSilence,
  needsFallback,
  type Quality,
  temperatureLadder,
} from '../fallback.ts';
import type { WhisperModel } from '../folder/whisper-folder.ts';
import { chooseLikeliest, drawToken, SeededUniform } from '../logit-rules.ts';
import { justEnded, type ReadingOptions, readWindow, type WindowReading } from '../segments.ts';

export class WindowText {
  readonly #request: WhisperSample;
  readonly #model: WhisperModel;
  readonly #maxTokens: number;
  readonly #uniform: SeededUniform;
  /** That of this attempt, and then those that are left. */
  readonly #temperatures: number[];
  #promptLength = 0;
  #noSpeechProbability = 0;
  /** Tokens of the prompt that the batch has not read yet. */
  #unread: number[] = [];
  #written: number[] = [];
  #next = 0;
  /** Number of tokens chosen in this attempt, end token included, and the sum of their log-probabilities. */
  #choices = 0;
  #logProbabilities = 0;

  constructor(request: WhisperSample, model: WhisperModel) {
    this.#request = request;
    this.#model = model;
    this.#maxTokens = request.maxTokens ?? Math.floor(model.decoder.sizes.maxTokens / 2);
    this.#uniform = new SeededUniform(request.seed);
    this.#temperatures = temperatureLadder(request.temperature, request.fallback);
  }

  /** Of this attempt. */
  get temperature(): number {
    return this.#temperatures[0];
  }

  /** Number of tokens written so far. */
  get length(): number {
    return this.#written.length;
  }

  /** The token that the next call reads. */
  get nextToken(): number {
    return this.#next;
  }

  /** An attempt begins: `write`, or `readBefore`, follows. */
  begin(promptLength: number, noSpeechProbability: number): void {
    this.#promptLength = promptLength;
    this.#noSpeechProbability = noSpeechProbability;
  }

  /** The next calls read these tokens of the prompt, at least one, before they write. */
  readBefore([first, ...others]: readonly number[]): void {
    this.#next = first;
    this.#unread = others;
  }

  /** A call has read the next token; `logits` are those after it. */
  advance(logits: Float32Array): void {
    const unread = this.#unread.shift();
    if (unread === undefined) this.write(logits);
    else this.#next = unread;
  }

  write(logits: Float32Array): void {
    this.#model.rules.apply(logits, this.#written, this.#request.timestamps !== 'none');
    const { token, logProbability } =
      this.temperature === 0
        ? chooseLikeliest(logits)
        : drawToken(logits, this.temperature, this.#uniform.next());
    this.#choices += 1;
    this.#logProbabilities += logProbability;
    this.#next = token;
    if (token !== this.#model.tokenizer.special.end) this.#written.push(token);
  }

  /** Whether the text has ended, or has reached its limit. */
  get hasEnded(): boolean {
    if (this.#choices === 0) return false;
    const { tokenizer, decoder } = this.#model;
    // The last token is written and not read, so it needs no place in the context.
    const isFull = this.#promptLength + this.#written.length > decoder.sizes.maxTokens;
    return this.#next === tokenizer.special.end || isFull || this.#written.length >= this.#maxTokens;
  }

  /** True when the text is bad and a higher temperature is left; the text is then empty again. */
  retry(): boolean {
    if (this.#temperatures.length === 1 || !needsFallback(this.quality())) return false;
    this.#temperatures.shift();
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
    const isLast = this.#temperatures.length === 1;
    return { segment, provisional: !isLast || mayBeSilence(this.#noSpeechProbability) };
  }

  /** No segments when the window has no speech. */
  read(): WindowReading {
    if (isSilence(this.quality())) return { segments: [], advanceFrames: this.#request.contentFrames };
    return readWindow(this.#written, this.#readingOptions());
  }

  quality(): Quality {
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
      contentFrames: this.#request.contentFrames,
      frameSeconds: frontEnd.hopLength / frontEnd.sampleRate,
      timestamps: this.#request.timestamps !== 'none',
      decode: (tokens) => tokenizer.decode(tokens),
    };
  }
}
