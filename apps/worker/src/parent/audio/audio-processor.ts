/**
 * The parent's side of audio work. Files are decoded by ffmpeg, a process for each; windows and cuts are computed in a few threads.
 * A process or thread that dies or hangs fails its own task only: waveforms are shared memory that the parent holds, and the next task
 * gets a new process or thread.
 */
import { type ErrorCode, LehrError, type PriorityClass } from '@lehr/shared';
import { type DecodedAudio, decodeAudio } from './decode.ts';
import { type AudioLimits, ffmpegProblem } from './ffmpeg.ts';
import { type LogMelConfig, type RecordingPart, rangesToHear } from './log-mel.ts';
import { type AudioAnswer, type AudioTask, RunningThread } from './running-thread.ts';
import type { SampleRange } from './silence.ts';
import { MemorySupply, type SlotRequest, Slots } from './slots.ts';
import { sizeOf, type Waveform, waveformBytes } from './waveform.ts';

export type { SampleRange } from './silence.ts';

export interface AudioProcessorOptions {
  /** Started when first needed. */
  readonly threads: number;
  /** The entry module of a thread; tests start others. */
  readonly entry: URL;
  /** Files that are decoded at the same time. */
  readonly decodings: number;
  /** For the waveforms of all files. */
  readonly waveformBytes: number;
  readonly observe?: DecodeObserver;
  /** The program to run; ffmpeg from PATH when not given. */
  readonly ffmpeg?: string;
}

export interface DecodeObserver {
  /** `ms` is without the wait for a slot. */
  decoded(ms: number): void;
  /** Not called for a file whose decoding was aborted. */
  decodeRefused(code: ErrorCode): void;
}

/** One file to decode. */
export interface DecodeRequest {
  readonly bytes: Uint8Array;
  readonly limits: AudioLimits;
  /** Owners take turns at the decoder, within each class. */
  readonly owner: string;
  readonly priority?: PriorityClass;
  readonly signal?: AbortSignal;
}

/** A decoded file. Its waveform counts in the memory for waveforms until `release` is called or the signal of its request aborts. */
export interface HeldAudio extends DecodedAudio {
  readonly release: () => void;
}

/** Windows of one task of the first pass over a recording: five minutes of sound, less than half a second of a thread. */
const WINDOWS_HEARD_AT_ONCE = 10;

type Answer = Exclude<AudioAnswer, { type: 'failed' }>;
type AnswerTo<Task extends AudioTask> = Extract<Answer, { type: Task['type'] }>;

export class AudioProcessor {
  readonly #options: AudioProcessorOptions;
  readonly #decodings: Slots;
  readonly #tasks: Slots;
  readonly #threads = new Set<RunningThread>();
  readonly #closing = new AbortController();
  readonly #memory: MemorySupply;
  #idle: RunningThread[] = [];
  #onRoom: () => void = () => {};
  #decoderProblem: string | undefined;
  #check: Promise<string | undefined> | undefined;

  constructor(options: AudioProcessorOptions) {
    this.#options = options;
    this.#memory = new MemorySupply(options.waveformBytes);
    this.#decodings = new Slots(options.decodings, this.#memory);
    this.#tasks = new Slots(options.threads);
  }

  /**
   * Any file to a 16 kHz mono waveform, once there is a slot and the memory for the longest that is allowed. Rejects as decodeAudio does,
   * and with the reason of the signal when it aborts.
   */
  async decode({
    bytes,
    limits,
    owner,
    priority = 'interactive',
    signal,
  }: DecodeRequest): Promise<HeldAudio> {
    const closing = this.#closing.signal;
    const end = signal ? AbortSignal.any([signal, closing]) : closing;
    const reserved = { owner: `${owner} ${priority}`, size: waveformBytes(limits.maxDurationS), priority };
    try {
      return await this.#decodings.run(() => this.#decodeNow(bytes, limits, reserved, end), end, reserved);
    } finally {
      this.#onRoom();
    }
  }

  /** Whether a file of this length would be decoded soon: no other file waits for a slot before it, and there is memory for its waveform. */
  hasRoom(maxDurationS: number, priority?: PriorityClass): boolean {
    return !this.#decodings.isFull(priority) && this.#memory.hasRoom(waveformBytes(maxDurationS), priority);
  }

  /** Calls the function whenever `hasRoom` may have changed to true. */
  onRoom(listener: () => void): void {
    this.#onRoom = listener;
  }

  /** The memory that waveforms take, or may take while they are decoded. */
  get waveformBytes(): number {
    return this.#memory.usedBytes;
  }

  /** Why files cannot be decoded here, in a sentence, as far as a check or a decoding has shown. */
  get decoderProblem(): string | undefined {
    return this.#decoderProblem;
  }

  /** Decodes a small file to find out whether that works here. Calls at the same time share one check. */
  checkDecoder(): Promise<string | undefined> {
    this.#check ??= ffmpegProblem(this.#options.ffmpeg).then((problem) => {
      this.#decoderProblem = problem;
      this.#check = undefined;
      return problem;
    });
    return this.#check;
  }

  /**
   * The log-mel of a window that is alone, at `startSample`: [melBins, frames], row-major. Silence replaces what the waveform does
   * not have, and for everything from `endSample` on: speech past a cut belongs to the next window.
   */
  async mel(
    waveform: Waveform,
    startSample: number,
    config: LogMelConfig,
    endSample: number = waveform.length,
    priority?: PriorityClass,
  ): Promise<Float32Array> {
    return (await this.#perform({ type: 'mel', waveform, startSample, endSample, config }, priority)).mel;
  }

  /**
   * The log-mel of a window as part of its recording. `loudest` is what the method of this name resolves with; when that is undefined, the
   * first window finds it for those after it.
   */
  async recordingMel(
    waveform: Waveform,
    startSample: number,
    config: LogMelConfig,
    loudest: number | undefined,
    priority?: PriorityClass,
  ): Promise<RecordingPart> {
    const { mel, loudest: found } = await this.#perform(
      { type: 'part', waveform, startSample, config, loudest },
      priority,
    );
    return { mel, loudest: found };
  }

  /** The largest log10 of a mel power in the recording; undefined when its first window has all of it. Rejects when the signal aborts. */
  async loudest(
    waveform: Waveform,
    config: LogMelConfig,
    signal?: AbortSignal,
    priority?: PriorityClass,
  ): Promise<number | undefined> {
    let loudest: number | undefined;
    for (const range of rangesToHear(waveform.length, config, WINDOWS_HEARD_AT_ONCE)) {
      signal?.throwIfAborted();
      const heard = await this.#perform({ type: 'loudest', waveform, range, config }, priority);
      loudest = Math.max(loudest ?? heard.loudest, heard.loudest);
    }
    return loudest;
  }

  /** The whole waveform in ranges of at most `maxSamples`, back to back, cut at silences. */
  async cut(
    waveform: Waveform,
    maxSamples: number,
    priority?: PriorityClass,
  ): Promise<readonly SampleRange[]> {
    return (await this.#perform({ type: 'cut', waveform, maxSamples }, priority)).ranges;
  }

  /** Starts a thread ahead of the first task, which then need not wait for it. */
  async warmUp(): Promise<void> {
    this.#idle.push(await this.#thread());
  }

  /** Ends processes and threads; what is running or waiting rejects with LehrError `unavailable`. */
  async close(): Promise<void> {
    this.#closing.abort(new LehrError('unavailable', 'The worker is shutting down.'));
    await Promise.all([...this.#threads].map((thread) => thread.close()));
  }

  /** `reserved` has been taken for the waveform. */
  async #decodeNow(
    bytes: Uint8Array,
    limits: AudioLimits,
    reserved: SlotRequest,
    signal: AbortSignal,
  ): Promise<HeldAudio> {
    const { ffmpeg, observe } = this.#options;
    const startedAt = performance.now();
    const { owner } = reserved;
    let held = reserved.size;
    const keep = (size: number): void => {
      this.#memory.give({ owner, size: held - size });
      held = size;
      this.#decodings.look();
    };
    try {
      const decoded = await decodeAudio(bytes, limits, { signal, ...(ffmpeg && { ffmpeg }) });
      observe?.decoded(performance.now() - startedAt);
      keep(sizeOf(decoded.waveform));
      const release = (): void => {
        // A signal with a listener is kept in memory as long as this process.
        signal.removeEventListener('abort', release);
        keep(0);
        this.#onRoom();
      };
      signal.throwIfAborted();
      signal.addEventListener('abort', release);
      return { ...decoded, release };
    } catch (error) {
      keep(0);
      if (error instanceof LehrError && !signal.aborted) {
        if (error.code === 'unavailable') this.#decoderProblem = error.message;
        observe?.decodeRefused(error.code);
      }
      throw error;
    }
  }

  /** First passes and windows of a class take turns: a window, for which the engine may wait, waits for one task of a first pass. */
  async #perform<Task extends AudioTask>(
    task: Task,
    priority: PriorityClass = 'interactive',
  ): Promise<AnswerTo<Task>> {
    const kind = task.type === 'loudest' ? 'first passes' : 'windows';
    const { signal } = this.#closing;
    const answer = await this.#tasks.run(
      async () => {
        const thread = await this.#thread();
        try {
          return await thread.perform(task);
        } catch (error) {
          signal.throwIfAborted();
          throw error;
        } finally {
          if (thread.isAlive) this.#idle.push(thread);
        }
      },
      signal,
      { owner: `${kind} ${priority}`, size: 0, priority },
    );
    return answer as AnswerTo<Task>;
  }

  async #thread(): Promise<RunningThread> {
    this.#idle = this.#idle.filter(({ isAlive }) => isAlive);
    const idle = this.#idle.pop();
    if (idle) return idle;
    for (const thread of this.#threads) if (!thread.isAlive) this.#threads.delete(thread);
    const thread = await RunningThread.start(this.#options.entry);
    this.#threads.add(thread);
    const { signal } = this.#closing;
    if (signal.aborted) await thread.close();
    signal.throwIfAborted();
    return thread;
  }
}
