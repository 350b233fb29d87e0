/** The process of one trial, from the side that starts it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { StepsWanted, TrialAnswer, TrialFailure, TrialSettings } from './trial.ts';

const ENTRY = new URL('./trial-main.js', import.meta.url);
/** Opening or a round that takes longer is not what anyone wants. */
const ANSWER_LIMIT_MS = 30 * 60_000;
const MAX_ERROR_LENGTH = 500;

/** The first message says that the model is open. */
type Answer = TrialAnswer | { readonly opened: true };

export class TrialProcess {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #stderr = '';

  private constructor(settings: TrialSettings, entry: URL) {
    this.#child = fork(fileURLToPath(entry), [JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = `${this.#stderr}${text}`.slice(-MAX_ERROR_LENGTH);
    });
    this.#closed = once(this.#child, 'close');
  }

  /** Resolves when the model is open. */
  static async start(settings: TrialSettings, entry: URL = ENTRY): Promise<TrialProcess | TrialFailure> {
    const trial = new TrialProcess(settings, entry);
    const answer = await trial.#answer();
    if ('failure' in answer) {
      await trial.close();
      return answer;
    }
    return trial;
  }

  /** A process that dies, such as by the kernel's out-of-memory killer, is a failure of its settings. One call at a time. */
  take(wanted: StepsWanted): Promise<TrialAnswer> {
    const answer = this.#answer();
    // Of a process that has ended, `#answer` says how.
    if (this.#child.connected) this.#child.send(wanted, () => {});
    return answer as Promise<TrialAnswer>;
  }

  /** Resolves when its memory is free. */
  async close(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  async #answer(): Promise<Answer> {
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), ANSWER_LIMIT_MS);
    const answered = new AbortController();
    try {
      const message = once(this.#child, 'message', { signal: answered.signal });
      const [answer] = await Promise.race([message, this.#closed.then(() => [this.#death()])]);
      return answer as Answer;
    } finally {
      clearTimeout(limit);
      answered.abort();
    }
  }

  #death(): TrialFailure {
    const { exitCode, signalCode } = this.#child;
    return { failure: `the process ended (${signalCode ?? exitCode}): ${this.#stderr.trim()}` };
  }
}
