/** Programs of the queue comparison: child processes that say when they are ready, and producers that take orders. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** An order to a producer: submit so many jobs and wait for their results. */
export interface Order {
  readonly jobs: number;
}

export interface Program {
  readonly pid: number;
  /** Ms from the first submission to the last result. */
  order(order: Order): Promise<number>;
  close(): Promise<void>;
}

/** Starts a file of this folder with `url` of Redis as its argument. Resolves when it is ready. Throws when it ends before. */
export async function startProgram(file: string, url: string): Promise<Program> {
  const child = fork(new URL(file, import.meta.url), [url], { execArgv: process.execArgv });
  await nextMessage(child, file);
  return {
    pid: child.pid ?? 0,
    order: async (order) => {
      child.send(order);
      const { ms, error } = (await nextMessage(child, file)) as { ms: number; error?: string };
      if (error !== undefined) throw new Error(`${file}: ${error}`);
      return ms;
    },
    close: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

async function nextMessage(child: ChildProcess, file: string): Promise<unknown> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const ended = once(child, 'exit', { signal }).then(() => {
    throw new Error(`${file} ended; its output is above.`);
  });
  ended.catch(() => {});
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
    return message;
  } finally {
    stopped.abort();
  }
}

/** In a producer: says that it is ready, and does each order. `run` submits the jobs and waits for their results. */
export function serveOrders(run: (jobs: number) => Promise<void>): void {
  process.on('message', ({ jobs }: Order) => {
    const startedAt = performance.now();
    void run(jobs).then(
      () => process.send?.({ ms: performance.now() - startedAt }),
      (error) => process.send?.({ error: String(error) }),
    );
  });
  process.send?.('ready');
}

/** Does `work` for each number below `count`, `atOnce` at a time. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (at: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
