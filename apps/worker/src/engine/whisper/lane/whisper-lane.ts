/**
 * The running batch of one Whisper model. Each turn is one graph call: encode waiting windows, start encoded ones (the
 * decoder reads their prompts), write one token for every window of a batch, or time words. Windows of many jobs share calls: each
 * joins as soon as it is started, leaves when its text ends, and gets the same text as alone.
 *
 *   waiting -> encoded -> decoding -> [timing words] -> done     the states of a window
 *                 ^           |
 *                 +-----------+     a bad text is decoded again at the next temperature
 *
 * How windows that arrived at different times share a decoder call: exported decoders take the position of a token from
 * the length of the past, so all rows of a call would need texts of equal length. The graph is therefore rewired at load
 * (whisper/folder/rewire-decoder.ts): each row has its own slot for its past, its own position and its own mask, and one
 * batch takes any window at the next token. A graph that cannot be rewired runs aligned: see window-batches.ts.
 *
 * admit-windows.ts decides which windows are encoded, and when.
 */
import { type Clock, type LehrError, toLehrError, toPlainError } from '@lehr/shared';
import type { RowCap } from '../../lanes/row-cap.ts';
import { runInHalves } from '../../lanes/run-in-halves.ts';
import type { TurnTaker } from '../../lanes/turns.ts';
import type { FromEngine, SampleId, WhisperSample } from '../../protocol/messages.ts';
import type { WhisperModel } from '../folder/whisper-folder.ts';
import { timeWords } from '../word-times.ts';
import { delayAfterDecoding, windowsToEncode, windowsToStart } from './admit-windows.ts';
import { DecoderProgress } from './decoder-progress.ts';
import { WhisperWindow } from './whisper-window.ts';
import { WindowBatches } from './window-batches.ts';

export interface WhisperLaneOptions {
  readonly name: string;
  readonly model: WhisperModel;
  /** The most windows of one encoder call. */
  readonly encoderCap: RowCap;
  /** The most windows in the lane: rows of a decoder call. */
  readonly cap: RowCap;
  /** Row counts that calls are padded to, for providers that tune per shape; empty for none. */
  readonly ladder: readonly number[];
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

export class WhisperLane implements TurnTaker {
  readonly #options: WhisperLaneOptions;
  readonly #progress: DecoderProgress;
  readonly #decoding: WindowBatches;
  #waiting: WhisperWindow[] = [];
  #encoded: WhisperWindow[] = [];
  #timing: WhisperWindow[] = [];
  /** How long encoding has delayed decoding, less what decoding has made up for. */
  #decoderDelayMs = 0;
  #reportedCap: number | undefined;

  constructor(options: WhisperLaneOptions) {
    const { name, model, ladder, clock, post } = options;
    this.#options = options;
    this.#decoding = new WindowBatches(model.decoder, ladder);
    this.#progress = new DecoderProgress(name, clock, post);
  }

  get hasWork(): boolean {
    return this.#waiting.length > 0 || this.#inLane().length > 0;
  }

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  submit(request: WhisperSample): void {
    const { model, clock } = this.#options;
    this.#waiting.push(new WhisperWindow(request, model, clock.monotonic()));
    this.#reportCap();
  }

  /** Cancels a window, of which nothing more is posted; returns false when there is no such window. */
  cancel(id: SampleId): boolean {
    const window = [...this.#waiting, ...this.#inLane()].find(
      ({ request, isDropped }) => request.id === id && !isDropped,
    );
    if (!window) return false;
    // A running call may use the window; the next turn removes it.
    window.isDropped = true;
    return true;
  }

  /** Never rejects: an error fails windows. */
  async takeTurn(): Promise<void> {
    this.#removeDropped();
    const toEncode = this.#windowsToEncode();
    if (this.#timing.length > 0) await this.#timeWords(this.#timing[0]);
    else if (this.#encoded.length > 0) await this.#start();
    else if (toEncode.length > 0) await this.#encode(toEncode);
    else if (!this.#decoding.isEmpty) await this.#step();
    this.#removeDropped();
    this.#reportCap();
  }

  #removeDropped(): void {
    const stays = ({ isDropped }: WhisperWindow): boolean => !isDropped;
    this.#waiting = this.#waiting.filter(stays);
    this.#encoded = this.#encoded.filter(stays);
    this.#timing = this.#timing.filter(stays);
    this.#decoding.removeWhere(({ isDropped }) => isDropped);
  }

  /** Every window that has been encoded and has not ended. */
  #inLane(): WhisperWindow[] {
    return [...this.#encoded, ...this.#timing, ...this.#decoding.windows];
  }

  #windowsToEncode(): WhisperWindow[] {
    const { cap, encoderCap, ladder } = this.#options;
    return windowsToEncode({
      waiting: this.#waiting,
      inLane: this.#inLane(),
      decoderRowCap: cap.rows,
      encoderRowCap: encoderCap.rows,
      ladder,
      isDecoding: !this.#decoding.isEmpty,
      decoderDelayMs: this.#decoderDelayMs,
    });
  }

  async #encode(windows: readonly WhisperWindow[]): Promise<void> {
    const { model, clock, encoderCap } = this.#options;
    this.#waiting = this.#waiting.filter((window) => !windows.includes(window));
    this.#encoded.push(...windows);
    this.#announce(windows);
    const startedAt = clock.monotonic();
    const whole = await this.#inParts(windows, async (part) => {
      const mels = part.map(({ request }) => request.mel);
      const charge = this.#measure(part);
      const features = await model.encoder.encode(mels, model.decoder.sizes.floatType);
      charge();
      for (const [i, window] of part.entries()) window.setFeatures(features[i], clock.monotonic());
    });
    const ms = clock.monotonic() - startedAt;
    if (whole) encoderCap.observe(windows.length, ms);
    if (!this.#decoding.isEmpty) this.#decoderDelayMs += ms;
  }

  async #start(): Promise<void> {
    const { model, clock, ladder } = this.#options;
    const windows = windowsToStart(this.#encoded, ladder);
    this.#announce(windows);
    await this.#inParts(windows, async (part) => {
      const prompts = part.map(({ prompt }) => prompt);
      const charge = this.#measure(part);
      const started = await model.decoder.start(
        prompts,
        part.map(({ features }) => features),
      );
      charge();
      for (const [row, window] of part.entries()) {
        if (window.isDropped) continue;
        window.startedAt ||= clock.monotonic();
        try {
          if (!window.start(prompts[row], (position) => started.logits(row, position))) continue;
          this.#encoded = this.#encoded.filter((other) => other !== window);
          const state = started.state(row);
          if (window.text.hasEnded) this.#ended(window);
          else this.#decoding.batchFor(state.length).add(window, state);
        } catch (error) {
          this.#fail(window, toLehrError(error, 'engine-failed'));
        }
      }
    });
    this.#decoding.settle();
  }

  async #step(): Promise<void> {
    const { cap, post } = this.#options;
    const batch = this.#decoding.next();
    const windows = [...batch.windows];
    this.#announce(windows);
    const charge = this.#measure(windows);
    const { whole, failures, tooMany } = await batch.step();
    const ms = charge();
    this.#decoderDelayMs = delayAfterDecoding(this.#decoderDelayMs, ms);
    if (whole) cap.observe(windows.length, ms);
    if (tooMany !== undefined) cap.limit(Math.floor(tooMany / 2));
    for (const { window, error } of failures) this.#fail(window, error);
    this.#progress.addCall(windows, ms);
    for (const window of batch.windows) {
      const segment = window.text.justEnded();
      if (segment && !window.isDropped) post({ type: 'segment', sample: window.request.id, ...segment });
    }
    for (const window of this.#decoding.removeWhere(({ text }) => text.hasEnded)) this.#ended(window);
  }

  /** The window's text is complete: decode it again at the next temperature, time its words, or post it. */
  #ended(window: WhisperWindow): void {
    if (window.isDropped) return;
    if (window.text.retry()) {
      this.#encoded.push(window);
      return;
    }
    window.decodedAt = this.#options.clock.monotonic();
    if (window.textToTime) this.#timing.push(window);
    else this.#options.post(window.result(window.request.timestamps === 'word' ? [] : undefined));
  }

  async #timeWords(window: WhisperWindow): Promise<void> {
    const { model, post } = this.#options;
    const text = window.textToTime;
    this.#announce([window]);
    const charge = this.#measure([window]);
    try {
      const words = text ? await timeWords(model, text) : [];
      charge();
      this.#timing = this.#timing.filter((other) => other !== window);
      if (!window.isDropped) post(window.result(words));
    } catch (error) {
      this.#fail(window, toLehrError(error, 'engine-failed'));
    }
  }

  #inParts(
    windows: readonly WhisperWindow[],
    run: (part: readonly WhisperWindow[]) => Promise<void>,
  ): Promise<boolean> {
    return runInHalves(windows, { run, onFailed: (window, error) => this.#fail(window, error) });
  }

  /** Returns the function that ends the measurement: it adds equal shares of the time to these windows, and returns the time in ms. */
  #measure(windows: readonly WhisperWindow[]): () => number {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    return () => {
      const ms = clock.monotonic() - startedAt;
      for (const window of windows) window.deviceMs += ms / windows.length;
      return ms;
    };
  }

  #fail(window: WhisperWindow, error: LehrError): void {
    const others = (list: readonly WhisperWindow[]) => list.filter((other) => other !== window);
    this.#encoded = others(this.#encoded);
    this.#timing = others(this.#timing);
    if (window.isDropped) return;
    window.isDropped = true;
    this.#options.post({ type: 'failed', sample: window.request.id, failure: toPlainError(error) });
  }

  #announce(windows: readonly WhisperWindow[]): void {
    this.#options.post({ type: 'running', samples: windows.map(({ request }) => request.id) });
  }

  #reportCap(): void {
    const { cap, name, post } = this.#options;
    if (cap.rows === this.#reportedCap) return;
    this.#reportedCap = cap.rows;
    post({ type: 'row-cap', lane: name, rows: cap.rows });
  }
}
