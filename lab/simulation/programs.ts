/** The processes of the simulation: they fill the queues and hold the workers. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FillOrder } from './fill.ts';
import type { WorkReport, WorkSettings } from './work.ts';

type Message = { ready: true } | { error: string };

const programs: ChildProcess[] = [];

function start(file: string, argument: string): ChildProcess {
  const program = fork(fileURLToPath(new URL(file, import.meta.url)), [argument], {
    execArgv: process.execArgv,
  });
  programs.push(program);
  program.on('exit', (code, signal) => {
    if (code !== 0 && signal !== 'SIGKILL') throw new Error(`${file} ended with ${code ?? signal}`);
  });
  return program;
}

async function ready(program: ChildProcess): Promise<void> {
  const [message] = (await once(program, 'message')) as [Message];
  if ('error' in message) throw new Error(message.error);
}

/** Processes that fill the queues together. */
export async function startFillers(url: string, count: number) {
  const fillers = Array.from({ length: count }, () => start('./fill.ts', url));
  await Promise.all(fillers.map(ready));
  return {
    /** Returns how many jobs were made. */
    fill: async (order: Omit<FillOrder, 'step'>): Promise<number> => {
      const made = await Promise.all(
        fillers.map(async (filler, i) => {
          const reply = once(filler, 'message');
          filler.send({ ...order, from: order.from + i, step: count } satisfies FillOrder);
          const [message] = (await reply) as [{ made: number } | { error: string }];
          if ('error' in message) throw new Error(message.error);
          return message.made;
        }),
      );
      return made.reduce((sum, each) => sum + each, 0);
    },
  };
}

/** Opens all workers; they claim once `start` is called. */
export async function startWorkers(
  settings: WorkSettings,
  processes: number,
  onReport: (report: WorkReport) => void,
): Promise<{ start(): void }> {
  const each = Math.ceil(settings.workers / processes);
  const counts = Array.from({ length: processes }, (_, i) => Math.min(each, settings.workers - i * each));
  const holders = counts
    .filter((workers) => workers > 0)
    .map((workers) => start('./work.ts', JSON.stringify({ ...settings, workers })));
  await Promise.all(holders.map(ready));
  for (const holder of holders) holder.on('message', onReport);
  return {
    start: () => {
      for (const holder of holders) holder.send('start');
    },
  };
}

/** Ends all programs at once: their work is measured, and nothing of it is kept. */
export function endPrograms(): void {
  for (const program of programs) program.kill('SIGKILL');
}
