/**
 * The parent's side of the audio room: hands tasks to a few threads and never computes on sound itself. A thread that dies
 * or hangs takes its task with it and nobody else's: waveforms are shared memory that the parent holds, and the next task
 * gets a new thread.
 */
import { LehrError } from '@lehr/shared';
import type { AudioAnswer, AudioTask } from './audio-protocol.ts';
import type { AudioLimits, DecodedAudio } from './decode.ts';
import type { LogMelConfig } from './log-mel.ts';
import { RunningThread } from './running-thread.ts';
import type { SampleRange } from './silence.ts';
import type { Waveform } from './waveform.ts';

export type { SampleRange } from './silence.ts';

export interface AudioDeskOptions {
  /** Started when first needed. Of two or more, one is always kept from decoding, so that the engine gets its windows. */
  readonly threads: number;
  /** The entry module; tests start others. */
  readonly entry: URL;
}

type Answer = Exclude<AudioAnswer, { type: 'failed' }>;

interface Pending {
  readonly task: AudioTask;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class AudioDesk {
  readonly #options: AudioDeskOptions;
  readonly #maxDecodings: number;
  readonly #threads = new Set<RunningThread>();
  #idle: RunningThread[] = [];
  #waiting: Pending[] = [];
  readonly #running = new Set<Pending>();
  #isClosed = false;

  constructor(options: AudioDeskOptions) {
    this.#options = options;
    this.#maxDecodings = Math.max(1, options.threads - 1);
  }

  /**
   * Any file to a 16 kHz mono waveform, freed with its last reference. The bytes are given away: when they fill their
   * buffer, it moves, and the caller's view is empty afterwards. Rejects with LehrError `invalid-audio` or `too-large`.
   */
  async decode(bytes: Uint8Array, limits: AudioLimits): Promise<DecodedAudio> {
    return (await this.#perform({ type: 'decode', bytes, limits })).audio;
  }

  /**
   * The log-mel of the window at `startSample`: [melBins, frames], row-major. Silence stands in for what the waveform does
   * not have, and for everything from `endSample` on: speech past a cut belongs to the next window.
   */
  async mel(
    waveform: Waveform,
    startSample: number,
    config: LogMelConfig,
    endSample: number = waveform.length,
  ): Promise<Float32Array> {
    return (await this.#perform({ type: 'mel', waveform, startSample, endSample, config })).mel;
  }

  /** The whole waveform in ranges of at most `maxSamples`, back to back, cut where nobody speaks. */
  async cut(waveform: Waveform, maxSamples: number): Promise<readonly SampleRange[]> {
    return (await this.#perform({ type: 'cut', waveform, maxSamples })).ranges;
  }

  /** Starts a thread ahead of the first task, which then need not wait for it. */
  async warmUp(): Promise<void> {
    this.#idle.push(await this.#thread());
  }

  /** Stops the threads; what is running or waiting rejects with LehrError `unavailable`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of [...this.#waiting.splice(0), ...this.#running]) reject(shuttingDown());
    await Promise.all([...this.#threads].map((thread) => thread.close()));
  }

  async #perform<Task extends AudioTask>(task: Task): Promise<Extract<Answer, { type: Task['type'] }>> {
    if (this.#isClosed) throw shuttingDown();
    const answer = await new Promise<Answer>((resolve, reject) => {
      this.#waiting.push({ task, resolve, reject });
      this.#assign();
    });
    return answer as Extract<Answer, { type: Task['type'] }>;
  }

  /** Gives tasks to threads as far as there are any. */
  #assign(): void {
    while (this.#running.size < this.#options.threads) {
      const next = this.#next();
      if (!next) return;
      this.#waiting = this.#waiting.filter((pending) => pending !== next);
      this.#running.add(next);
      void this.#run(next);
    }
  }

  /** Windows before files: the engine waits for them with a half-filled batch. */
  #next(): Pending | undefined {
    const quick = this.#waiting.find(({ task }) => task.type !== 'decode');
    const decodings = [...this.#running].filter(({ task }) => task.type === 'decode').length;
    return quick ?? (decodings < this.#maxDecodings ? this.#waiting[0] : undefined);
  }

  async #run(pending: Pending): Promise<void> {
    try {
      const thread = await this.#thread();
      try {
        pending.resolve(await thread.perform(pending.task));
      } finally {
        if (thread.isAlive) this.#idle.push(thread);
      }
    } catch (error) {
      pending.reject(error);
    }
    this.#running.delete(pending);
    this.#assign();
  }

  async #thread(): Promise<RunningThread> {
    this.#idle = this.#idle.filter(({ isAlive }) => isAlive);
    const idle = this.#idle.pop();
    if (idle) return idle;
    for (const thread of this.#threads) if (!thread.isAlive) this.#threads.delete(thread);
    const thread = await RunningThread.start(this.#options.entry);
    this.#threads.add(thread);
    if (!this.#isClosed) return thread;
    await thread.close();
    throw shuttingDown();
  }
}

const shuttingDown = (): LehrError => new LehrError('unavailable', 'The worker is shutting down.');
