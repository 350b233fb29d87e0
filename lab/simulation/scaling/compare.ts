/** Every scaler on every curve, and what is compared of it. */
import { type Curve, curves } from './curves.ts';
import { type Replayed, replay } from './replay.ts';
import { kedaScaler, lehrScaler, type Scaler, staticScaler } from './scalers.ts';

export const STARTS_S = [30, 120] as const;
export const TARGETS_S = [1, 5, 15, 30, 60, 120] as const;
export const JOBS_PER_WORKER = [0.7, 1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 12, 20, 40] as const;
const STATIC = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 24] as const;

export interface Row {
  readonly name: string;
  readonly kind: 'lehr' | 'keda' | 'keda-60' | 'static';
  /** The target wait, the jobs a worker, or the workers. */
  readonly setting: number;
  /** Worker seconds for each second of work. */
  readonly cost: number;
  readonly p95S: number;
  readonly p50S: number;
  readonly starts: number;
  readonly mostWorkers: number;
  readonly timeline: readonly number[];
}

export interface Comparison {
  readonly curve: Curve;
  readonly startS: number;
  readonly rows: readonly Row[];
}

/** The targets, the jobs a worker of both windows, and the workers that are tried. */
export interface Settings {
  readonly targets: readonly number[];
  readonly jobs: readonly number[];
  readonly jobs60: readonly number[];
  readonly workers: readonly number[];
}

const ALL: Settings = { targets: TARGETS_S, jobs: JOBS_PER_WORKER, jobs60: JOBS_PER_WORKER, workers: STATIC };

export function compare(chosen: readonly Curve[] = curves(), settings: Settings = ALL): Comparison[] {
  return chosen.flatMap((curve) =>
    STARTS_S.map((startS) => ({ curve, startS, rows: rowsOf(curve, startS, settings) })),
  );
}

function rowsOf(curve: Curve, startS: number, settings: Settings): Row[] {
  const row = (kind: Row['kind'], setting: number, scaler: Scaler): Row[] => {
    const result = tryReplay(curve, scaler, startS);
    if (!result) return [];
    const { workerS, workS, p95WaitS, p50WaitS, starts, mostWorkers, timeline } = result;
    const { name } = scaler;
    return [
      {
        name,
        kind,
        setting,
        cost: workerS / workS,
        p95S: p95WaitS,
        p50S: p50WaitS,
        starts,
        mostWorkers,
        timeline,
      },
    ];
  };
  const targets = (standard: number) => ({
    target_wait_s: { interactive: standard, standard, bulk: Math.max(300, standard) },
  });
  return [
    ...settings.targets.flatMap((target) => row('lehr', target, lehrScaler(startS, targets(target)))),
    ...settings.jobs.flatMap((jobs) => row('keda', jobs, kedaScaler(jobs))),
    ...settings.jobs60.flatMap((jobs) => row('keda-60', jobs, kedaScaler(jobs, 60))),
    ...settings.workers.flatMap((workers) => row('static', workers, staticScaler(workers))),
  ];
}

/** Undefined for workers that never catch up. */
function tryReplay(curve: Curve, scaler: Scaler, startS: number): Replayed | undefined {
  try {
    return replay(curve, scaler, startS);
  } catch {
    return undefined;
  }
}
