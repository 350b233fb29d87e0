import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { LehrError } from '@lehr/shared';
import { AUDIO_THREAD_READY, type AudioAnswer, type AudioTask } from './audio-protocol.ts';

/** Of the thread's own JavaScript heap: decoding needs a few MiB, whatever the length. Sound itself is outside of it. */
const HEAP_MB = 256;
/** What a decoding may take over its own limit before the whole thread is stopped. */
const GRACE_MS = 500;
/** A window or a cut takes milliseconds; this only ends what hangs. */
const QUICK_TASK_MS = 30_000;

/** One audio thread as the parent sees it: does one task after the other, and may die of any of them. */
export class RunningThread {
  readonly #worker: Worker;
  #isAlive = true;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.once('exit', () => {
      this.#isAlive = false;
    });
    // An error between two tasks is told by the exit that follows.
    worker.on('error', () => {});
  }

  /** Resolves when the thread has loaded its modules. Rejects with LehrError `internal` when it cannot. */
  static async start(entry: URL): Promise<RunningThread> {
    // Libraries print what they think of broken files; that is not for our log, and unread it would pile up.
    const worker = new Worker(entry, {
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    worker.stdout.resume();
    worker.stderr.resume();
    try {
      const [word] = await once(worker, 'message');
      if (word !== AUDIO_THREAD_READY) throw new Error(`Its first word was ${JSON.stringify(word)}.`);
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
      const timer = setTimeout(() => settle(() => reject(tooSlow(task))), allowedMs(task));
      const onMessage = (message: AudioAnswer): void => settle(() => resolve(message));
      const onError = (cause: Error): void => settle(() => reject(died(task, cause)));
      const onExit = (): void => settle(() => reject(died(task)));
      const settle = (conclude: () => void): void => {
        clearTimeout(timer);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        conclude();
      };
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage(task, givenAway(task));
    });
  }
}

const allowedMs = (task: AudioTask): number =>
  task.type === 'decode' ? task.limits.timeoutMs + GRACE_MS : QUICK_TASK_MS;

/** An upload that fills its buffer moves to the thread without a copy; a slice of a shared pool cannot. */
function givenAway(task: AudioTask): ArrayBuffer[] {
  if (task.type !== 'decode') return [];
  const { buffer, byteLength } = task.bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

const tooSlow = (task: AudioTask): LehrError =>
  task.type === 'decode'
    ? new LehrError(
        'invalid-audio',
        `Decoding the file took longer than ${task.limits.timeoutMs / 1000} seconds.`,
      )
    : new LehrError('internal', `The audio thread hung in a ${task.type} task.`);

/** Whatever killed it while it decoded came from the file. */
const died = (task: AudioTask, cause?: Error): LehrError =>
  task.type === 'decode'
    ? new LehrError('invalid-audio', 'The file broke the decoder that read it.', { cause })
    : new LehrError('internal', `The audio thread died in a ${task.type} task.`, { cause });
