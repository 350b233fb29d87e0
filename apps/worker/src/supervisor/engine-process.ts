/**
 * The engine as the parent sees it: a child process that takes messages, sends messages, and may die.
 *
 * A child, because a graph run blocks its JavaScript thread for as long as it lasts, and because a segfault, a sticky
 * CUDA error or the OOM killer takes the process it happens in.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { LehrError } from '@lehr/shared';
import type { EngineSettings, FromEngine, ModelToOpen, OpenedModel, ToEngine } from '../engine/protocol.ts';

/** How an engine ended. */
export interface EngineExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Killed by the watchdog because it went silent. */
  readonly hung: boolean;
}

export interface EngineProcess {
  readonly pid: number;
  readonly models: readonly OpenedModel[];
  send(message: ToEngine): void;
  /** Lets it finish its turn and leave; kills it when it does not within the grace. */
  close(graceMs: number): Promise<void>;
}

export interface EngineListener {
  onMessage(message: FromEngine): void;
  /** Not called after `close`. */
  onExit(exit: EngineExit): void;
  /** Whether the engine owes us anything: silence of an idle engine is not a hang. */
  isBusy(): boolean;
}

export interface EngineOptions {
  readonly settings: EngineSettings;
  readonly models: readonly ModelToOpen[];
  /** A busy engine that says nothing for so long hangs inside a graph run and is killed. */
  readonly silenceMs: number;
  /** The entry module; tests start others. */
  readonly entry: URL;
}

const LOOKS_PER_SILENCE = 4;

/** Starts an engine; resolves when it has loaded and warmed up every model. Rejects with the reason when it cannot. */
export async function startEngine(options: EngineOptions, listener: EngineListener): Promise<EngineProcess> {
  const child = fork(options.entry, {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const models = await opened(child, options);

  let silentLooks = 0;
  let hung = false;
  let closing = false;
  // Looks are counted, not time: when this process has stood still itself (frozen, swapped out), that is one look. And what the
  // engine said meanwhile is read before it is killed.
  const watchdog = setInterval(() => {
    silentLooks = listener.isBusy() ? silentLooks + 1 : 0;
    if (silentLooks <= LOOKS_PER_SILENCE) return;
    setImmediate(() => {
      if (silentLooks <= LOOKS_PER_SILENCE) return;
      hung = true;
      child.kill('SIGKILL');
    });
  }, options.silenceMs / LOOKS_PER_SILENCE);

  child.on('message', (message) => {
    silentLooks = 0;
    listener.onMessage(message as FromEngine);
  });
  // A send to a child that has just died fails; the exit event tells the story.
  child.on('error', () => {});
  child.once('exit', (code, signal) => {
    clearInterval(watchdog);
    if (!closing) listener.onExit({ code, signal, hung });
  });

  return {
    pid: child.pid as number,
    models,
    send: (message) => {
      if (child.connected) child.send(message, () => {});
    },
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

/** The first word of a child: ready, unusable, or its death. */
function opened(child: ChildProcess, options: EngineOptions): Promise<readonly OpenedModel[]> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      child.off('message', onMessage);
      child.off('exit', onExit);
      child.off('error', onError);
    };
    const onMessage = (message: unknown): void => {
      const first = message as FromEngine;
      if (first.type !== 'ready' && first.type !== 'open-failed') return;
      settle();
      if (first.type === 'ready') {
        resolve(first.models);
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
      { type: 'open', settings: options.settings, models: options.models } satisfies ToEngine,
      () => {},
    );
  });
}
