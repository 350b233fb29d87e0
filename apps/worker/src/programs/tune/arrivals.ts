/** Plays arrivals of jobs against measured times of steps: how long jobs take at a load, before any of them has run. Pure. */
import { readFile } from 'node:fs/promises';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';

/** Enough for a 95th percentile. */
const JOBS = 500;

/** So many per second on average, in ms: the same moments each time, so that all candidates are compared at the same load. */
export function randomArrivals(perS: number): number[] {
  let state = 1;
  let at = 0;
  return Array.from({ length: JOBS }, () => {
    // Park and Miller's minimal standard generator; the times between arrivals are exponential, as of a Poisson process.
    state = (state * 48_271) % 2_147_483_647;
    at -= (Math.log(state / 2_147_483_647) / perS) * 1000;
    return at;
  });
}

const JobsSchema = z.array(z.object({ created_at: z.iso.datetime() })).min(2);

/** The arrivals of what `lehr jobs --json` has printed, in ms from the first. Throws LehrError `invalid-request`. */
export async function recordedArrivals(path: string): Promise<number[]> {
  try {
    const jobs = JobsSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    const times = jobs.map(({ created_at }) => Date.parse(created_at)).sort((a, b) => a - b);
    return times.map((time) => time - times[0]);
  } catch (cause) {
    const wanted =
      'wanted a number of jobs per second, or a file with at least two jobs as lehr jobs --json prints them';
    throw new LehrError('invalid-request', `The arrivals ${path} cannot be read; ${wanted}.`, { cause });
  }
}

export interface Server {
  /** Jobs that a step of one worker has room for. */
  readonly room: number;
  readonly workers: number;
  /** Steps of a job. */
  readonly steps: number;
  /** What a worker does for a job beside its steps. */
  readonly perJobMs: number;
  /** Of a step with so many jobs. */
  stepMs(jobs: number): number;
}

interface Worker {
  /** When its step ends. */
  until: number;
  readonly waiting: number[];
  running: { readonly arrivedAt: number; left: number }[];
}

/** How long each job takes, in ms. A job goes to the worker with the fewest; it joins the next step of a worker that has room. */
export function timesAt(arrivals: readonly number[], server: Server): number[] {
  const taken: number[] = [];
  const workers = Array.from(
    { length: server.workers },
    (): Worker => ({ until: 0, waiting: [], running: [] }),
  );
  for (const arrivedAt of arrivals) {
    for (const worker of workers) advance(worker, arrivedAt, server, taken);
    const [idlest] = [...workers].sort((a, b) => jobsOf(a) - jobsOf(b));
    if (jobsOf(idlest) === 0) idlest.until = arrivedAt;
    idlest.waiting.push(arrivedAt);
  }
  for (const worker of workers) advance(worker, Number.POSITIVE_INFINITY, server, taken);
  return taken;
}

const jobsOf = ({ waiting, running }: Worker): number => waiting.length + running.length;

/** All steps that end before `now`. */
function advance(
  worker: Worker,
  now: number,
  { room, steps, perJobMs, stepMs }: Server,
  taken: number[],
): void {
  while (worker.until < now && jobsOf(worker) > 0) {
    const { until } = worker;
    for (const job of worker.running) job.left -= 1;
    for (const { arrivedAt, left } of worker.running) if (left === 0) taken.push(until - arrivedAt);
    worker.running = worker.running.filter(({ left }) => left > 0);
    const joining = worker.waiting.splice(0, room - worker.running.length);
    worker.running.push(...joining.map((arrivedAt) => ({ arrivedAt, left: steps })));
    if (worker.running.length > 0)
      worker.until = until + stepMs(worker.running.length) + joining.length * perJobMs;
  }
}
