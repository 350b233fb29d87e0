/**
 * Starts the engine as a child process and watches it.
 *
 * It is a separate process because a graph run blocks its JavaScript thread, and because a segfault, a sticky CUDA error or
 * the OOM killer ends the whole process in which it happens.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { LehrError } from '@lehr/shared';
import type { EngineSettings, FromEngine, ModelToOpen, ToEngine } from '../../engine/protocol/messages.ts';

/** What an engine reports after its start. */
export type EngineEvent = Exclude<FromEngine, { type: 'ready' | 'open-failed' }>;

/** How an engine process ended. */
export interface EngineExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Whether the watchdog killed it because it was silent for too long. */
  readonly hung: boolean;
  /** How long it could have been silent, when it hung. */
  readonly limitMs?: number;
  /** Whether it was opening a model: that, and no job, may have made it die. */
  readonly wasOpening?: boolean;
}

/** Which models an engine has opened, and which it could not open. */
export type OpenResult = Pick<Extract<FromEngine, { type: 'ready' }>, 'models' | 'unavailable'>;

export interface EngineProcess {
  readonly pid: number;
  /** At its start. */
  readonly opened: OpenResult;
  send(message: ToEngine): void;
  /** Ends the engine at once; `onExit` follows. */
  kill(): void;
  /** Lets the engine finish its current step and exit; kills it when it has not exited after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

interface EngineListener {
  onMessage(message: EngineEvent): void;
  /** Not called after `close`. */
  onExit(exit: EngineExit): void;
  /** Whether the engine has work. Only the silence of a busy engine is a hang. */
  isBusy(): boolean;
  /** How long it may be silent at what it does now, in ms. */
  silenceMs(): number;
}

export interface EngineOptions {
  readonly settings: EngineSettings;
  readonly models: readonly ModelToOpen[];
  /**
   * A busy engine that sends no message for this long hangs inside a graph run and is killed. Measured step times replace it
   * (silence-limit.ts).
   */
  readonly silenceMs: number;
  /** The engine's entry module. */
  readonly entry: URL;
  /** Whether to start without a model when none of them can be opened. */
  readonly mayBeEmpty?: boolean;
  /** Absent: as this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Checks in the configured time of silence. */
const CHECKS_PER_SILENCE = 8;

/**
 * Starts an engine; resolves when it has loaded and warmed up its models. Rejects with the reason when it can load none, unless
 * `mayBeEmpty`.
 */
export async function startEngine(options: EngineOptions, listener: EngineListener): Promise<EngineProcess> {
  const child = fork(options.entry, {
    serialization: 'advanced',
    ...(options.env && { env: options.env }),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const result = await opened(child, options);

  const checkEveryMs = options.silenceMs / CHECKS_PER_SILENCE;
  let silentChecks = 0;
  let limitMs: number | undefined;
  let closing = false;
  // Silence is measured in checks and not in time, because this process may have been frozen or swapped out itself: that counts
  // as one check. setImmediate lets it read the messages that arrived meanwhile before it kills the engine.
  const watchdog = setInterval(() => {
    silentChecks = listener.isBusy() ? silentChecks + 1 : 0;
    const allowed = Math.ceil(listener.silenceMs() / checkEveryMs);
    if (silentChecks <= allowed) return;
    setImmediate(() => {
      if (silentChecks <= allowed) return;
      limitMs = allowed * checkEveryMs;
      child.kill('SIGKILL');
    });
  }, checkEveryMs);

  child.on('message', (messages) => {
    silentChecks = 0;
    for (const message of messages as EngineEvent[]) listener.onMessage(message);
  });
  // Sending to a child that has just died fails; its exit event reports the death.
  child.on('error', () => {});
  child.once('exit', (code, signal) => {
    clearInterval(watchdog);
    const hung = limitMs !== undefined;
    if (!closing) listener.onExit({ code, signal, hung, ...(hung && { limitMs }) });
  });

  return {
    pid: child.pid as number,
    opened: result,
    send: (message) => {
      if (child.connected) child.send(message, () => {});
    },
    kill: () => void child.kill('SIGKILL'),
    close: async (graceMs) => {
      closing = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = new Promise((resolve) => child.once('exit', resolve));
      if (child.connected) child.send({ type: 'close' } satisfies ToEngine, () => {});
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exit;
      clearTimeout(timer);
    },
  };
}

/** Resolves or rejects with the first message of the child; rejects when it exits before that. */
function opened(child: ChildProcess, options: EngineOptions): Promise<OpenResult> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      child.off('message', onMessage);
      child.off('exit', onExit);
      child.off('error', onError);
    };
    const onMessage = (messages: unknown): void => {
      const [first] = messages as FromEngine[];
      if (first.type !== 'ready' && first.type !== 'open-failed') return;
      settle();
      if (first.type === 'ready') {
        resolve(first);
      } else {
        child.kill('SIGKILL');
        const { code, message, problems } = first.failure;
        reject(new LehrError(code, message, { problems }));
      }
    };
    const onExit = (code: number | null, signal: string | null): void => {
      settle();
      reject(
        new LehrError(
          'engine-failed',
          `The engine ended while it was loading models (${signal ?? `code ${code}`}).`,
        ),
      );
    };
    const onError = (error: Error): void => {
      settle();
      reject(new LehrError('engine-failed', 'The engine process could not be started', { cause: error }));
    };
    child.on('message', onMessage);
    child.once('exit', onExit);
    child.once('error', onError);
    child.send(
      {
        type: 'open',
        settings: options.settings,
        models: options.models,
        mayBeEmpty: options.mayBeEmpty,
      } satisfies ToEngine,
      () => {},
    );
  });
}

/** By its name, a variable may hold a secret, or belongs to Lehr, which gives the engine its settings in a message. */
const WITHHELD = /^(?:LEHR_(?!TEST_)|AWS_|REDIS)|KEY|SECRET|TOKEN|PASSW|CREDENTIAL|AUTH/i;
/** The address of a proxy or a database may have a password in it. */
const URL_WITH_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/[^/\s@]*:[^/\s@]*@/i;

/**
 * For the allocator of glibc, in bytes. By default it keeps most of the memory of a closed model of less than about 30 MB: measured with the
 * demo model, all of it; with these limits, none.
 */
const RETURN_MEMORY = { MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '65536' };

/**
 * The environment of the engine process, without secrets: it parses files of models and needs no Redis, store or API. The rest is passed on:
 * paths of libraries, and settings of CUDA and ONNX Runtime.
 */
export const engineEnvironment = (
  env: Readonly<Record<string, string | undefined>>,
  closesModels = false,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries({ ...(closesModels && RETURN_MEMORY), ...env }).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !WITHHELD.test(entry[0]) && !URL_WITH_PASSWORD.test(entry[1]),
    ),
  );

type Submit = Extract<ToEngine, { type: 'submit' }>;

/**
 * Sends the samples that are submitted in one turn of the event loop as one message: the jobs of a claim start together. A message that is
 * no `submit` is sent at once, after the samples submitted before it.
 */
export function submitTogether(send: (message: ToEngine) => void): (message: ToEngine) => void {
  let unsent: Submit['samples'][number][] = [];
  const flush = (): void => {
    const samples = unsent;
    unsent = [];
    if (samples.length > 0) send({ type: 'submit', samples });
  };
  return (message) => {
    if (message.type !== 'submit') {
      flush();
      send(message);
      return;
    }
    if (unsent.length === 0) setImmediate(flush);
    unsent.push(...message.samples);
  };
}
