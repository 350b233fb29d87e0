/** The parts that a worker is built from. */
import type {
  Clock,
  Counts,
  ErrorCode,
  JobState,
  LoadStage,
  Log,
  Registry,
  Task,
  WorkerId,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import { GROUP_IDLE_MS, type GroupQueues, type JanitorAction, type Repricer } from '@lehr/shared/queue';
import type { CheckpointStore, JobOutline, RecordStore } from '@lehr/shared/records';
import type { Keys, Redis } from '@lehr/shared/redis';
import type { Tracing } from '@lehr/shared/tracing';
import type {
  DecoderProgressMessage,
  FromEngine,
  TextProgressMessage,
  TransformProgressMessage,
} from '../../engine/protocol/messages.ts';
import type { AudioProcessor, DecodeObserver } from '../audio/audio-processor.ts';
import type { EngineExit, EngineOptions } from '../supervisor/engine-process.ts';
import type { CheckpointOutcome } from './checkpoints.ts';
import type { JobRun } from './job-run.ts';
import type { FetchMedia } from './media-source.ts';
import type { PictureReader } from './picture-reader.ts';

export interface WorkerParts {
  readonly id: WorkerId;
  readonly tasks: readonly Task[];
  readonly commands: Redis;
  readonly blocking: Redis;
  readonly subscriber: Redis;
  readonly keys: Keys;
  readonly queues: GroupQueues;
  readonly records: RecordStore;
  /** Absent: pictures are not checkpointed. */
  readonly checkpoints?: CheckpointStore | undefined;
  readonly repricer: Repricer;
  readonly store: ObjectStore;
  readonly registry: Registry;
  /** What the open models may take together; absent: all models are open. */
  readonly modelBytes?: number | undefined;
  /** Why a model (`name@version`) has not been fetched; undefined when it has. */
  readonly whyNotFetched?: (ref: string) => string | undefined;
  readonly engine: EngineOptions;
  readonly audio: AudioProcessor;
  readonly fetchMedia: FetchMedia;
  readonly pictures: PictureReader;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: WorkerTimes;
  readonly observe: WorkerObserver;
  /** What it has counted since its start; absent: it reports no counters. */
  readonly counts?: () => Promise<Counts>;
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined;
}

export interface WorkerTimes {
  readonly renewEveryMs: number;
  /** Of a followed job. */
  readonly progressEveryMs: number;
  readonly unfollowedProgressEveryMs: number;
  readonly followCheckEveryMs: number;
  readonly reportEveryMs: number;
  readonly janitorEveryMs: number;
  readonly reconcileEveryMs: number;
  readonly storeRetryMs: number;
  readonly storeAttemptMs: number;
  /** A job that runs longer fails. */
  readonly maxRunMs: number;
  /** A group that is idle for so long is retired. */
  readonly groupIdleMs: number;
  /** The first pause of a worker in quarantine. */
  readonly quarantineMs: number;
  /** A worker that is idle for so long although jobs wait for it exits. */
  readonly maxIdleMs: number;
}

export const WORKER_TIMES: WorkerTimes = {
  renewEveryMs: 5_000,
  progressEveryMs: 250,
  unfollowedProgressEveryMs: 5_000,
  followCheckEveryMs: 1_000,
  reportEveryMs: 2_000,
  janitorEveryMs: 5_000,
  reconcileEveryMs: 30_000,
  storeRetryMs: 60_000,
  storeAttemptMs: 30_000,
  maxRunMs: 3_600_000,
  groupIdleMs: GROUP_IDLE_MS,
  quarantineMs: 60_000,
  maxIdleMs: 60_000,
};

/** The events that the metrics of a worker are made from. */
export interface WorkerObserver extends DecodeObserver {
  /** A part of making a model (`name@version`) ready has ended. */
  modelLoaded(ref: string, stage: LoadStage, ms: number): void;
  /** A model (`name@version`) is unloaded to make room for others. */
  modelUnloaded(ref: string): void;
  stepped(message: Extract<FromEngine, { type: 'stepped' }>): void;
  decoderProgress(message: DecoderProgressMessage): void;
  textProgress(message: TextProgressMessage): void;
  transformProgress(message: TransformProgressMessage): void;
  /** `end` is the end that this worker wrote; undefined when it wrote none. */
  ended(run: JobRun, end: JobState | undefined): void;
  /** A job ended when it was claimed; it did not run here. `code` says why it failed. */
  endedAtClaim(queue: string, end: JobState, code?: ErrorCode): void;
  /** Jobs of a group were claimed and their attempts started, in `ms`. */
  claimed(queue: string, jobs: number, ms: number): void;
  /** The janitor repaired or removed so many jobs or groups. */
  janitorDid(action: JanitorAction, count: number): void;
  /** A job's deadline passed while it waited. */
  expired(job: JobOutline): void;
  /** `bytes` are those that were written. */
  checkpoint(queue: string, outcome: CheckpointOutcome, bytes?: number): void;
  leaseLost(): void;
  engineDied(exit: EngineExit): void;
}
