/** The process that runs the programs of a control plane and ends them when this one ends (keeper.mjs). */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./keeper.mjs', import.meta.url));
const LOG_SHOWN = 2000;

export interface KeptProgram {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The file for its output. */
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly nice: number;
}

interface Message {
  readonly name: string;
  readonly pid?: number;
  readonly ended?: string | number;
}

export class Keeper {
  #child: ChildProcess | undefined;
  readonly #programs = new Map<string, KeptProgram>();
  readonly #ends = new Map<string, string | number>();
  #isStopping = false;

  start(program: KeptProgram): void {
    this.#programs.set(program.name, program);
    this.#child ??= this.#forked();
    this.#child.send({ ...program });
  }

  /** Throws when a program has ended by itself, with the end of its log. */
  check(): void {
    for (const [name, how] of this.#ends) {
      if (this.#isStopping) continue;
      const log = readFileSync(this.#programs.get(name)?.log ?? '/dev/null', 'utf8').slice(-LOG_SHOWN);
      throw new Error(`${name} ended (${how}): ${log}`);
    }
  }

  /** Resolves when all programs have ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
  }

  #forked(): ChildProcess {
    const child = fork(PROGRAM, { stdio: 'inherit' });
    child.on('message', ({ name, ended }: Message) => {
      if (ended !== undefined) this.#ends.set(name, ended);
    });
    return child;
  }
}
