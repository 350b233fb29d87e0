/**
 * The running batch of one Whisper model. Every turn is one graph call: encode windows that came, start those that are
 * encoded, or write one token for every window in the batch. Windows of many jobs share the calls; each joins as soon as
 * it is started, leaves when its text ends, and writes what it writes alone.
 *
 *   waiting -> encoded -> writing -> timing words -> over      a window's way; badly written ones go back to encoded
 *
 * How windows that came at different times share a decoder call. Exported decoders take the position of a token from the
 * length of the past, so all rows of a call would have to have written equally much; waiting for each other would cost
 * more than it gains. So the graph is rewired at load (models/rewire-decoder.ts): each row has its past in a slot of its
 * own, its own position and its own mask, and there is one batch that anybody joins at the next token. A graph that
 * cannot be rewired runs aligned: see window-batches.ts.
 *
 * What goes first. Decoding gains most from many rows, and encoding gains nothing from waiting, so windows are encoded as
 * they come, up to the row cap; but not so long that writing stands still, see `#mayEncode`.
 */
import { type Clock, type LehrError, toLehrError, toPlainError } from '@lehr/shared';
import type { WhisperModel } from '../models/whisper/whisper-folder.ts';
import { timeWords } from '../whisper/word-times.ts';
import type { FromEngine, SampleId } from './protocol.ts';
import type { RowCap } from './row-cap.ts';
import type { Station } from './turns.ts';
import type { WhisperSample } from './whisper-messages.ts';
import { WhisperWindow } from './whisper-window.ts';
import { WindowBatches } from './window-batches.ts';
import { WritingReport } from './writing-report.ts';

export interface WhisperLaneOptions {
  readonly name: string;
  readonly model: WhisperModel;
  /** Windows of one encoder call, and windows in the lane, as rows of the decoder. */
  readonly encoderCap: RowCap;
  readonly cap: RowCap;
  /** Row counts of calls, for providers that tune per shape; empty for any. */
  readonly ladder: readonly number[];
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

/** Prompts of one call, and their tokens: bound how long others wait for it, and the memory of its logits. */
const MAX_STARTS = 8;
const MAX_START_TOKENS = 512;
/** Encoding may hold up writing by so much at once, and by no more than this share in the long run. */
const ENCODE_BURST_MS = 2000;
const ENCODE_SHARE = 3;
export class WhisperLane implements Station {
  readonly #options: WhisperLaneOptions;
  readonly #report: WritingReport;
  readonly #writing: WindowBatches;
  #waiting: WhisperWindow[] = [];
  #encoded: WhisperWindow[] = [];
  #timing: WhisperWindow[] = [];
  /** How long encoding has held up writing, less what writing has caught up. */
  #heldUpMs = 0;
  #reportedCap: number | undefined;

  constructor(options: WhisperLaneOptions) {
    const { name, model, ladder, clock, post } = options;
    this.#options = options;
    this.#writing = new WindowBatches(model.decoder, ladder);
    this.#report = new WritingReport(name, clock, post);
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

  /** True when the window was here; nothing of it is written any more. */
  cancel(id: SampleId): boolean {
    const window = [...this.#waiting, ...this.#inLane()].find(
      ({ request, isDropped }) => request.id === id && !isDropped,
    );
    if (!window) return false;
    // A call that holds it may be running: whoever has it lets it go at the next turn.
    window.isDropped = true;
    return true;
  }

  /** Never rejects: a failure is the failure of windows. */
  async turn(): Promise<void> {
    this.#sweep();
    if (this.#timing.length > 0) await this.#timeWords(this.#timing[0]);
    else if (this.#encoded.length > 0) await this.#start();
    else if (this.#mayEncode()) await this.#encode();
    else if (!this.#writing.isEmpty) await this.#step();
    this.#sweep();
    this.#reportCap();
  }

  #sweep(): void {
    const stays = ({ isDropped }: WhisperWindow): boolean => !isDropped;
    this.#waiting = this.#waiting.filter(stays);
    this.#encoded = this.#encoded.filter(stays);
    this.#timing = this.#timing.filter(stays);
    this.#writing.removeWhere(({ isDropped }) => isDropped);
  }

  /** Everybody past the door. */
  #inLane(): WhisperWindow[] {
    return [...this.#encoded, ...this.#timing, ...this.#writing.windows];
  }

  /** Windows that go through the encoder together now: the oldest that there is room for. */
  #nextToEncode(): WhisperWindow[] {
    const { cap, encoderCap } = this.#options;
    const inLane = this.#inLane();
    let maxBatchMates = Math.min(...inLane.map(({ request }) => request.maxBatchMates));
    const next: WhisperWindow[] = [];
    for (const window of this.#waiting) {
      const windows = inLane.length + next.length + 1;
      maxBatchMates = Math.min(maxBatchMates, window.request.maxBatchMates);
      // Whoever is alone always fits; who does not fit yet holds back those behind, or would never get in.
      if (windows > 1 && windows > Math.min(cap.rows, maxBatchMates)) break;
      if (next.length === encoderCap.rows) break;
      next.push(window);
    }
    return this.#wholeRung(next);
  }

  /** As many of the first as a rung of the ladder has. */
  #wholeRung(windows: readonly WhisperWindow[]): WhisperWindow[] {
    const rung = this.#options.ladder.findLast((rows) => rows <= windows.length);
    return windows.slice(0, rung ?? windows.length);
  }

  #mayEncode(): boolean {
    if (this.#nextToEncode().length === 0) return false;
    return this.#writing.isEmpty || this.#heldUpMs < ENCODE_BURST_MS;
  }

  async #encode(): Promise<void> {
    const { model, clock, encoderCap } = this.#options;
    const windows = this.#nextToEncode();
    this.#waiting = this.#waiting.filter((window) => !windows.includes(window));
    this.#encoded.push(...windows);
    this.#announce(windows);
    const startedAt = clock.monotonic();
    const whole = await this.#inParts(windows, async (part) => {
      const mels = part.map(({ request }) => request.mel);
      const features = await model.encoder.encode(mels, model.decoder.sizes.floatType);
      for (const [i, window] of part.entries()) window.encoded(features[i], clock.monotonic());
    });
    const ms = clock.monotonic() - startedAt;
    if (whole) encoderCap.observe(windows.length, ms);
    if (!this.#writing.isEmpty) this.#heldUpMs += ms;
  }

  /** The oldest of the encoded windows and those that begin with as long a prompt. */
  #nextToStart(): WhisperWindow[] {
    const length = this.#encoded[0].prompt.length;
    const most = Math.min(MAX_STARTS, Math.max(1, Math.floor(MAX_START_TOKENS / length)));
    return this.#wholeRung(this.#encoded.filter(({ prompt }) => prompt.length === length).slice(0, most));
  }

  async #start(): Promise<void> {
    const { model, clock } = this.#options;
    const windows = this.#nextToStart();
    this.#announce(windows);
    await this.#inParts(windows, async (part) => {
      const prompts = part.map(({ prompt }) => prompt);
      const started = await model.decoder.start(
        prompts,
        part.map(({ features }) => features),
      );
      for (const [row, window] of part.entries()) {
        if (window.isDropped) continue;
        window.marks.startedAt ||= clock.monotonic();
        try {
          if (!window.start(prompts[row], (position) => started.logits(row, position))) continue;
          this.#encoded = this.#encoded.filter((other) => other !== window);
          const state = started.state(row);
          if (window.hasEnded) this.#ended(window);
          else this.#writing.batchFor(state.length).add(window, state);
        } catch (error) {
          this.#fail(window, toLehrError(error, 'engine-failed'));
        }
      }
    });
    this.#writing.settle();
  }

  async #step(): Promise<void> {
    const { clock, cap } = this.#options;
    const batch = this.#writing.next();
    const windows = [...batch.windows];
    this.#announce(windows);
    const startedAt = clock.monotonic();
    const { whole, failures, tooMany } = await batch.step();
    const ms = clock.monotonic() - startedAt;
    this.#heldUpMs = Math.max(0, this.#heldUpMs - ENCODE_SHARE * ms);
    if (whole) cap.observe(windows.length, ms);
    if (tooMany !== undefined) cap.limit(Math.floor(tooMany / 2));
    for (const { window, error } of failures) this.#fail(window, error);
    this.#report.called(windows, ms);
    for (const window of batch.windows) this.#tellEnded(window);
    for (const window of this.#writing.removeWhere(({ hasEnded }) => hasEnded)) this.#ended(window);
  }

  #tellEnded(window: WhisperWindow): void {
    const heard = window.justEnded();
    if (heard && !window.isDropped) {
      this.#options.post({ type: 'segment', sample: window.request.id, ...heard });
    }
  }

  /** The window's text is whole: taken as it is, written again, or its words are timed. */
  #ended(window: WhisperWindow): void {
    if (window.isDropped) return;
    if (window.triesAgain()) {
      this.#encoded.push(window);
      return;
    }
    window.marks.decodedAt = this.#options.clock.monotonic();
    if (window.textToTime) this.#timing.push(window);
    else this.#options.post(window.result(window.request.timestamps === 'word' ? [] : undefined));
  }

  async #timeWords(window: WhisperWindow): Promise<void> {
    const { model, post } = this.#options;
    const text = window.textToTime;
    this.#announce([window]);
    try {
      const words = text ? await timeWords(model, text) : [];
      this.#timing = this.#timing.filter((other) => other !== window);
      if (!window.isDropped) post(window.result(words));
    } catch (error) {
      this.#fail(window, toLehrError(error, 'engine-failed'));
    }
  }

  /** Runs windows together, in halves when that fails; a window that fails alone has failed. False when it had to split. */
  async #inParts(
    windows: readonly WhisperWindow[],
    run: (part: readonly WhisperWindow[]) => Promise<void>,
  ): Promise<boolean> {
    try {
      await run(windows);
      return true;
    } catch (error) {
      if (windows.length === 1) {
        this.#fail(windows[0], toLehrError(error, 'engine-failed'));
        return false;
      }
      const middle = Math.ceil(windows.length / 2);
      await this.#inParts(windows.slice(0, middle), run);
      await this.#inParts(windows.slice(middle), run);
      return false;
    }
  }

  #fail(window: WhisperWindow, error: LehrError): void {
    const others = (list: WhisperWindow[]): WhisperWindow[] => list.filter((other) => other !== window);
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
