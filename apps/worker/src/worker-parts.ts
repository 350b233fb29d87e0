/** What a worker is built from, and whom it tells what happens in it. */
import type { Clock, JobState, Log, Registry, Task, WorkerId } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { GroupQueues } from '@lehr/shared/queue';
import type { JobRecord, RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { AudioDesk } from './audio/audio-desk.ts';
import type { FromEngine } from './engine/protocol.ts';
import type { FetchAudio } from './runs/audio-source.ts';
import type { JobRun } from './runs/job-run.ts';
import type { EngineExit, EngineOptions } from './supervisor/engine-process.ts';

export interface WorkerParts {
  readonly id: WorkerId;
  readonly tasks: readonly Task[];
  readonly commands: Redis;
  readonly blocking: Redis;
  readonly subscriber: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  readonly store: ObjectStore;
  readonly registry: Registry;
  readonly engine: EngineOptions;
  readonly audio: AudioDesk;
  readonly fetchAudio: FetchAudio;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkerTimes;
  /** The engine cannot be brought back: the process should leave, its jobs are handed back first. */
  readonly onHopeless: () => void;
  readonly observe: WorkerObserver;
}

export interface WorkerTimes {
  readonly renewEveryMs: number;
  readonly progressEveryMs: number;
  readonly reportEveryMs: number;
  readonly janitorEveryMs: number;
  readonly reconcileEveryMs: number;
  readonly storePatienceMs: number;
}

export const WORKER_TIMES: WorkerTimes = {
  renewEveryMs: 5_000,
  progressEveryMs: 250,
  reportEveryMs: 2_000,
  janitorEveryMs: 5_000,
  reconcileEveryMs: 30_000,
  storePatienceMs: 60_000,
};

/** What the metrics of a worker are made from. */
export interface WorkerObserver {
  stepped(message: Extract<FromEngine, { type: 'stepped' }>): void;
  wrote(message: Extract<FromEngine, { type: 'decoder-progress' }>): void;
  over(run: JobRun, end: JobState | undefined): void;
  /** A job came to its end in its claim, and was never run here. */
  unrun(queue: string, end: JobState): void;
  /** The deadline of a job that waited passed. */
  expired(job: JobRecord): void;
  lost(): void;
  restarted(exit: EngineExit): void;
}
