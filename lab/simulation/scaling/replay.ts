/** Replays a curve against a scaler: workers start slowly, run one job after the other, and end when they are not wanted. */
import { Random } from '../../../test/support/random.ts';
import type { Curve } from './curves.ts';
import { Hpa } from './hpa.ts';
import type { Scaler, Seen } from './scalers.ts';

export interface Replayed {
  /** From the request for a worker until its end. */
  readonly workerS: number;
  /** Engine seconds of all jobs. */
  readonly workS: number;
  readonly p50WaitS: number;
  readonly p95WaitS: number;
  readonly mostWorkers: number;
  /** How often a worker was started. */
  readonly starts: number;
  /** Workers that serve, every minute. */
  readonly timeline: readonly number[];
}

interface SimulatedWorker {
  readonly askedAtS: number;
  readonly readyAtS: number;
  freeAtS: number;
}

const EVERY_S = 5;
/** An estimate of the cost of a job is off by up to this share. */
const ESTIMATE_ERROR = 0.3;

export function replay(curve: Curve, scaler: Scaler, startS: number): Replayed {
  const random = new Random(7);
  const estimates = curve.jobs.map(({ costS }) => costS * (1 + ESTIMATE_ERROR * (2 * random.next() - 1)));
  const hpa = scaler.hpa && new Hpa(scaler.hpa);
  let workers: SimulatedWorker[] = Array.from({ length: scaler.first }, () => ({
    askedAtS: 0,
    readyAtS: 0,
    freeAtS: 0,
  }));
  const waits: number[] = [];
  const timeline: number[] = [];
  let [arrived, begun, workerS, starts, mostWorkers] = [0, 0, 0, 0, 0];
  const endOf = (worker: SimulatedWorker, atS: number): void => {
    workerS += Math.max(atS, worker.freeAtS) - worker.askedAtS;
  };
  let atS = 0;
  while (atS < curve.lengthS || begun < curve.jobs.length || workers.some((each) => each.freeAtS > atS)) {
    if (atS > 3 * curve.lengthS) throw new Error(`${scaler.name} never ends the jobs of ${curve.name}`);
    atS += EVERY_S;
    while (arrived < curve.jobs.length && curve.jobs[arrived].atS <= atS) arrived += 1;
    begun = serve(curve, workers, begun, arrived, atS, waits);
    const wanted = scaler.want(see(workers, estimates, begun, arrived, atS));
    const replicas = hpa ? hpa.apply(atS, wanted) : wanted;
    for (; workers.length < replicas; starts += 1) {
      workers.push({ askedAtS: atS, readyAtS: atS + startS, freeAtS: atS + startS });
    }
    if (workers.length > replicas) {
      // As the controller of a ReplicaSet: pods that are not ready first, then the newest.
      const ranked = [...workers].sort((a, b) => b.askedAtS - a.askedAtS);
      for (const each of ranked.slice(0, workers.length - replicas)) endOf(notReady(each, atS), atS);
      workers = workers.filter((each) => !ranked.slice(0, workers.length - replicas).includes(each));
    }
    mostWorkers = Math.max(mostWorkers, workers.length);
    if (atS % 60 === 0 && atS <= curve.lengthS)
      timeline.push(workers.filter((each) => each.readyAtS <= atS).length);
  }
  for (const each of workers) endOf(each, atS);
  waits.sort((a, b) => a - b);
  const at = (share: number): number => waits[Math.min(waits.length - 1, Math.floor(share * waits.length))];
  const workS = curve.jobs.reduce((sum, { costS }) => sum + costS, 0);
  return { workerS, workS, p50WaitS: at(0.5), p95WaitS: at(0.95), mostWorkers, starts, timeline };
}

/** A worker that is ended during its start has no job. */
const notReady = (worker: SimulatedWorker, atS: number): SimulatedWorker =>
  worker.readyAtS > atS ? { ...worker, freeAtS: atS } : worker;

/** Begins the jobs that can begin until `atS`, first come first served. Returns how many have begun. */
function serve(
  { jobs }: Curve,
  workers: readonly SimulatedWorker[],
  begun: number,
  arrived: number,
  atS: number,
  waits: number[],
): number {
  let next = begun;
  while (next < arrived && workers.length > 0) {
    const worker = workers.reduce((best, each) => (each.freeAtS < best.freeAtS ? each : best));
    const beginS = Math.max(jobs[next].atS, worker.freeAtS);
    if (beginS > atS) break;
    waits.push(beginS - jobs[next].atS);
    worker.freeAtS = beginS + jobs[next].costS;
    next += 1;
  }
  return next;
}

function see(
  workers: readonly SimulatedWorker[],
  estimates: readonly number[],
  begun: number,
  arrived: number,
  atS: number,
): Seen {
  const ready = workers.filter((each) => each.readyAtS <= atS);
  let waitingS = 0;
  for (let i = begun; i < arrived; i += 1) waitingS += estimates[i];
  const running = ready.filter((each) => each.freeAtS > atS).length;
  return { atS, waiting: arrived - begun, waitingS, running, ready: ready.length };
}
