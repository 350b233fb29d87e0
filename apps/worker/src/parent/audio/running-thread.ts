/** The audio thread as the parent sees it, and the messages between them: one task at a time, one answer to each. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ErrorCode, LehrError } from '@lehr/shared';
import type { LogMelConfig, RecordingPart } from './log-mel.ts';
import type { SampleRange } from './silence.ts';
import type { Waveform } from './waveform.ts';

interface MelTask {
  readonly type: 'mel';
  readonly waveform: Waveform;
  readonly startSample: number;
  /** Samples from here on count as silence. */
  readonly endSample: number;
  readonly config: LogMelConfig;
}

/** A window as part of its recording: `recordingMel`. */
interface PartTask {
  readonly type: 'part';
  readonly waveform: Waveform;
  readonly startSample: number;
  readonly config: LogMelConfig;
  readonly loudest: number | undefined;
}

interface LoudestTask {
  readonly type: 'loudest';
  readonly waveform: Waveform;
  readonly range: SampleRange;
  readonly config: LogMelConfig;
}

interface CutTask {
  readonly type: 'cut';
  readonly waveform: Waveform;
  readonly maxSamples: number;
}

export type AudioTask = MelTask | PartTask | LoudestTask | CutTask;

export type AudioAnswer =
  /** [melBins, frames], row-major. */
  | { readonly type: 'mel'; readonly mel: Float32Array }
  | ({ readonly type: 'part' } & RecordingPart)
  | { readonly type: 'loudest'; readonly loudest: number }
  | { readonly type: 'cut'; readonly ranges: readonly SampleRange[] }
  | { readonly type: 'failed'; readonly failure: { readonly code: ErrorCode; readonly message: string } };

/** The first message of a thread: its modules are loaded. */
export const AUDIO_THREAD_READY = 'ready';

/** For the thread's JavaScript heap: a window needs a few MiB. Waveforms are outside of it. */
const HEAP_MB = 256;
/** A window or a cut takes milliseconds, a task of a first pass less than a second; this only ends a thread that hangs. */
const TASK_MS = 30_000;

/** One audio thread as the parent sees it: performs one task after the other, and may die in any of them. */
export class RunningThread {
  readonly #worker: Worker;
  #isAlive = true;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.once('exit', () => {
      this.#isAlive = false;
    });
    // An error between two tasks is followed by an exit.
    worker.on('error', () => {});
  }

  /** Resolves when the thread has loaded its modules. Rejects with LehrError `internal` when it cannot. */
  static async start(entry: URL): Promise<RunningThread> {
    const worker = new Worker(entry, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
    try {
      const [first] = await once(worker, 'message');
      if (first !== AUDIO_THREAD_READY) throw new Error(`Its first message was ${JSON.stringify(first)}.`);
    } catch (cause) {
      throw new LehrError('internal', 'The audio thread could not be started.', { cause });
    }
    return new RunningThread(worker);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /**
   * Resolves with the thread's answer. Rejects with a LehrError when it answers with one, dies, or takes too long; in the
   * last two cases it is dead when this settles.
   */
  async perform(task: AudioTask): Promise<Exclude<AudioAnswer, { type: 'failed' }>> {
    const answer = await this.#ask(task).catch(async (error) => {
      await this.close();
      throw error;
    });
    if (answer.type === 'failed') throw new LehrError(answer.failure.code, answer.failure.message);
    return answer;
  }

  async close(): Promise<void> {
    this.#isAlive = false;
    await this.#worker.terminate();
  }

  #ask(task: AudioTask): Promise<AudioAnswer> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(() => reject(tooSlow(task))), TASK_MS);
      const onMessage = (message: AudioAnswer): void => settle(() => resolve(message));
      const onError = (cause: Error): void => settle(() => reject(died(task, cause)));
      const onExit = (): void => settle(() => reject(died(task)));
      const settle = (conclude: () => void): void => {
        clearTimeout(timer);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        conclude();
      };
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage(task);
    });
  }
}

const tooSlow = ({ type }: AudioTask): LehrError =>
  new LehrError('internal', `The audio thread hung in a ${type} task.`);

const died = ({ type }: AudioTask, cause?: Error): LehrError =>
  new LehrError('internal', `The audio thread died in a ${type} task.`, { cause });
