/**
 * One long-running child process, which is restarted when it ends.
 *
 *   idle -> running            start()
 *   running -> waiting         it ended by itself: it is reported with its last lines and started again after a backoff
 *   waiting -> running         the backoff is over
 *   running -> given up        it ended too often too quickly, or reported that its configuration is unusable: onGivenUp
 *   any -> stopped             stop() or kill(); a stopped service does not start again
 *
 * Every child leads its own process group, so that Ctrl-C reaches the launcher alone and the order of stopping is
 * the launcher's to decide, and so that what the child started goes with it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { endGroup } from './command.mjs';

const QUICK_MS = 30_000;
const MAX_QUICK_CRASHES = 5;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 10_000;
const LAST_LINES = 12;
/** How long to wait for the last lines of a child that ended. */
const OUTPUT_MS = 1000;
/** The exit code of the API and the worker for a wrong configuration (EX_CONFIG): a restart would fail again. */
const CONFIG_EXIT_CODE = 78;

export class Service {
  #options;
  #state = 'idle';
  #child;
  #over;
  #startedAt = 0;
  #quickCrashes = 0;
  #lastLines = [];
  #timer;

  /**
   * `command` [program, ...args]; `env` of the child; `input` for its standard input; `ipc` whether it gets a channel
   * that closes when the launcher dies; `stopMs` how long it may take after SIGTERM; `onLine`, `onStarted`, `onCrash(reason, lines)`,
   * `onGivenUp(reason)`.
   */
  constructor(name, options) {
    this.name = name;
    this.#options = options;
  }

  start() {
    if (this.#state !== 'idle' && this.#state !== 'waiting') return;
    const { command, env, input, ipc } = this.#options;
    const [program, ...args] = command;
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...(ipc ? ['ipc'] : [])];
    const child = spawn(program, args, { detached: true, env, stdio });
    this.#state = 'running';
    this.#child = child;
    this.#startedAt = performance.now();
    this.#lastLines = [];
    this.#over = this.#ended(child);
    // A child that dies before it has read its input is reported by its exit, not by the error of this pipe.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => this.#addLine(line));
    }
    this.#options.onStarted?.();
  }

  /** SIGTERM, then SIGKILL for the whole group after `stopMs`. Resolves when all of its processes have ended. */
  async stop() {
    clearTimeout(this.#timer);
    const wasRunning = this.#state === 'running';
    this.#state = 'stopped';
    if (!wasRunning) return;
    this.#child?.kill('SIGTERM');
    const impatience = setTimeout(() => this.kill(), this.#options.stopMs);
    await this.#over;
    clearTimeout(impatience);
  }

  /** SIGKILL for the whole group, now. */
  kill() {
    clearTimeout(this.#timer);
    this.#state = 'stopped';
    endGroup(this.#child, 'SIGKILL');
  }

  #addLine(line) {
    this.#lastLines.push(line);
    if (this.#lastLines.length > LAST_LINES) this.#lastLines.shift();
    this.#options.onLine?.(line);
  }

  async #ended(child) {
    const closed = once(child, 'close').catch(() => {});
    const reason = await new Promise((resolve) => {
      child.once('error', (error) => resolve({ text: error.message, code: error.code }));
      child.once('exit', (code, signal) =>
        resolve({ text: signal ? `killed by ${signal}` : `exit code ${code}`, code }),
      );
    });
    // The processes that the child started must end with it; they also keep its output open.
    endGroup(child, 'SIGKILL');
    await Promise.race([closed, delay(OUTPUT_MS)]);
    this.#child = undefined;
    if (this.#state === 'running') this.#crashed(reason);
  }

  #crashed({ text, code }) {
    const { onCrash, onGivenUp } = this.#options;
    const isQuick = performance.now() - this.#startedAt < QUICK_MS;
    this.#quickCrashes = isQuick ? this.#quickCrashes + 1 : 0;
    onCrash(text, this.#lastLines);
    if (code === 'ENOENT' || code === CONFIG_EXIT_CODE) {
      this.#state = 'given up';
      return onGivenUp(`${this.name} cannot start (${text})`);
    }
    if (this.#quickCrashes >= MAX_QUICK_CRASHES) {
      this.#state = 'given up';
      return onGivenUp(
        `${this.name} ended ${this.#quickCrashes} times within ${QUICK_MS / 1000} s of its start`,
      );
    }
    this.#state = 'waiting';
    const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.max(0, this.#quickCrashes - 1), MAX_DELAY_MS);
    this.#timer = setTimeout(() => this.start(), delayMs);
  }
}
