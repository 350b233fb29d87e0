/**
 * The processes of the trials. Those that fit into the memory beside each other stay open, so that their sessions can be measured in turns
 * and no model is opened twice. On a device other than the CPU one is open at a time: its memory is not known.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { type Session, sessionKey } from './candidate.ts';
import type { StepsWanted, TrialAnswer, TrialFailure, TrialSettings, TunedModel } from './trial.ts';

/** Runs trials. */
export interface Trials {
  /** The sessions, in groups that can be open at the same time. */
  groupsOf(sessions: readonly Session[]): Session[][];
  /** Opens a group before it is measured; those that do not fit beside it are closed. */
  open(sessions: readonly Session[]): Promise<void>;
  take(session: Session, wanted: StepsWanted): Promise<TrialAnswer>;
}

const MOST_OPEN = 16;
/** A process without a model. */
const BARE_BYTES = 150e6;
/** What a graph needs beside its weights, until a process was measured. */
const BYTES_PER_MODEL_BYTE = 3;

export class TrialPool implements Trials {
  readonly #model: TunedModel;
  /** The largest of one process so far. */
  #bytes: number;
  /** By session. */
  readonly #open = new Map<string, TrialTeam>();

  constructor(model: TunedModel, modelBytes: number) {
    this.#model = model;
    this.#bytes = BARE_BYTES + BYTES_PER_MODEL_BYTE * modelBytes;
  }

  groupsOf(sessions: readonly Session[]): Session[][] {
    const room = this.#room();
    const groups: Session[][] = [];
    for (const session of sessions) {
      const last = groups.at(-1);
      const fits =
        last?.[0].device === 'cpu' && session.device === 'cpu' && processesOf([...last, session]) <= room;
      if (fits) last?.push(session);
      else groups.push([session]);
    }
    return groups;
  }

  async open(sessions: readonly Session[]): Promise<void> {
    const wanted = new Set(sessions.map(sessionKey));
    const isOfCpu = sessions.every(({ device }) => device === 'cpu');
    const missing = sessions.filter((session) => !this.#open.has(sessionKey(session)));
    if (!isOfCpu || this.#processes() + processesOf(missing) > this.#room()) await this.#closeAllBut(wanted);
    // One thread optimizes a graph, so as many models are opened at once as there are cores.
    const openRest = async (): Promise<void> => {
      for (let next = missing.shift(); next; next = missing.shift()) await this.#started(next);
    };
    await Promise.all(Array.from({ length: availableParallelism() }, openRest));
  }

  /** What fails beside others is tried again alone, because it may be the memory that they share. */
  async take(session: Session, wanted: StepsWanted): Promise<TrialAnswer> {
    const isAlone = this.#open.size === (this.#open.has(sessionKey(session)) ? 1 : 0);
    const answer = await this.#take(session, wanted);
    if (!('failure' in answer) || answer.otherBatch || isAlone) return answer;
    await this.close();
    return this.#take(session, wanted);
  }

  close(): Promise<void> {
    return this.#closeAllBut(new Set());
  }

  #room(): number {
    // Half of the memory is left to steps of more rows, and to other programs.
    const more = Math.floor(process.availableMemory() / 2 / this.#bytes);
    return Math.min(MOST_OPEN, Math.max(1, this.#processes() + more));
  }

  #processes(): number {
    return [...this.#open.values()].reduce((sum, { size }) => sum + size, 0);
  }

  async #take(session: Session, wanted: StepsWanted): Promise<TrialAnswer> {
    if (process.availableMemory() < this.#bytes) await this.#closeAllBut(new Set([sessionKey(session)]));
    const trial = this.#open.get(sessionKey(session)) ?? (await this.#started(session));
    if ('failure' in trial) return trial;
    const answer = await trial.take(wanted);
    if (!('failure' in answer)) this.#bytes = Math.max(this.#bytes, answer.residentBytes / trial.size);
    else if (!answer.otherBatch) await this.#close(sessionKey(session));
    return answer;
  }

  async #started(session: Session): Promise<TrialTeam | TrialFailure> {
    const trial = await TrialTeam.start({ model: this.#model, session });
    if (!('failure' in trial)) this.#open.set(sessionKey(session), trial);
    return trial;
  }

  async #closeAllBut(kept: ReadonlySet<string>): Promise<void> {
    const others = [...this.#open.keys()].filter((key) => !kept.has(key));
    await Promise.all(others.map((key) => this.#close(key)));
  }

  async #close(key: string): Promise<void> {
    const trial = this.#open.get(key);
    this.#open.delete(key);
    await trial?.close();
  }
}

const processesOf = (sessions: readonly Session[]): number =>
  sessions.reduce((sum, { workers = 1 }) => sum + workers, 0);

/** The processes of the workers that share a device; one in most sessions. */
class TrialTeam {
  readonly #processes: readonly TrialProcess[];

  private constructor(processes: readonly TrialProcess[]) {
    this.#processes = processes;
  }

  get size(): number {
    return this.#processes.length;
  }

  static async start(settings: TrialSettings): Promise<TrialTeam | TrialFailure> {
    const { workers = 1 } = settings.session;
    const started = await Promise.all(Array.from({ length: workers }, () => TrialProcess.start(settings)));
    const team = new TrialTeam(started.flatMap((each) => ('failure' in each ? [] : each)));
    const failure = started.find((each) => 'failure' in each);
    if (!failure) return team;
    await team.close();
    return failure;
  }

  /** All take their steps at the same time. */
  async take(wanted: StepsWanted): Promise<TrialAnswer> {
    return joined(await Promise.all(this.#processes.map((process) => process.take(wanted))));
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.close()));
  }
}

/** The steps of all, the longest time of a job, and the memory of all together; the first failure where there is one. */
export function joined(answers: readonly TrialAnswer[]): TrialAnswer {
  const failure = answers.find((answer) => 'failure' in answer);
  if (failure) return failure;
  const taken = answers.filter((answer) => 'stepMs' in answer);
  const jobMs = taken.flatMap((answer) => answer.jobMs ?? []);
  return {
    stepMs: taken.flatMap((answer) => answer.stepMs),
    ...(jobMs.length > 0 && { jobMs: Math.max(...jobMs) }),
    residentBytes: taken.reduce((sum, answer) => sum + answer.residentBytes, 0),
  };
}

const ENTRY = new URL('./trial-main.js', import.meta.url);
/** Opening or a round that takes longer is not what anyone wants. */
const ANSWER_LIMIT_MS = 30 * 60_000;
const MAX_ERROR_LENGTH = 500;

/** The first message says that the model is open. */
type Answer = TrialAnswer | { readonly opened: true };

/** The process of one trial, from the side that starts it. */
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
