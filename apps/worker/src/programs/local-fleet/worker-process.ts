/** One worker as a child process, in a separate process group: Ctrl-C in a terminal reaches the fleet alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { WorkerMessage } from '../../parent/parent.ts';
import type { Member } from './plan.ts';

export interface WorkerProcessOptions {
  readonly slot: number;
  readonly generation: number;
  readonly order: number;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  onLine(line: string): void;
  /** Its state has changed. */
  onChange(member: WorkerProcess): void;
  onEnded(member: WorkerProcess, how: WorkerEnd): void;
}

export interface WorkerEnd {
  readonly code: number | string | null;
  readonly signal: NodeJS.Signals | null;
  readonly ranMs: number;
}

export class WorkerProcess implements Member {
  readonly slot: number;
  readonly generation: number;
  readonly order: number;
  readonly #child: ChildProcess;
  readonly #startedAt = performance.now();
  #state: Member['state'] = 'starting';
  #worker: string | undefined;
  jobs: number | undefined;

  constructor({ slot, generation, order, command, env, ...listener }: WorkerProcessOptions) {
    const [program, ...args] = command;
    this.slot = slot;
    this.generation = generation;
    this.order = order;
    this.#child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', listener.onLine);
    }
    this.#child.on('message', ({ type, worker }: WorkerMessage) => {
      this.#worker = worker;
      if (type === 'serving' && this.#state === 'starting') this.#state = 'serving';
      listener.onChange(this);
    });
    const ended = (code: number | string | null, signal: NodeJS.Signals | null): void => {
      this.#killGroup();
      listener.onEnded(this, { code, signal, ranMs: performance.now() - this.#startedAt });
    };
    this.#child.once('exit', ended);
    this.#child.once('error', (error: NodeJS.ErrnoException) => {
      if (this.#child.pid === undefined) ended(error.code ?? error.message, null);
    });
  }

  get state(): Member['state'] {
    return this.#state;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The id under which it reports; undefined until it has said so. */
  get worker(): string | undefined {
    return this.#worker;
  }

  /** The worker claims no more jobs, ends those that it has or hands them back, and ends. */
  drain(): void {
    if (this.#state === 'draining') return;
    this.#state = 'draining';
    this.#child.kill('SIGTERM');
  }

  /** A second signal: the worker ends at once, and its jobs go back when their leases expire. */
  end(): void {
    this.#state = 'draining';
    this.#child.kill('SIGTERM');
  }

  /** For a worker that does not end. */
  kill(): void {
    this.#killGroup();
  }

  /** The engine of a worker that was killed is in its group. */
  #killGroup(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
