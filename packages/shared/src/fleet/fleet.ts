/**
 * What the workers report every few seconds: which models they serve, how fast they run and how full they are. The API
 * estimates waits from it, and learns from it which models batch only when aligned.
 */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { WorkerId } from '../base/ids.ts';
import { known, parsedStored } from '../base/other-versions.ts';
import { OWN_VERSION } from '../base/version.ts';
import { TASKS } from '../contracts/group.ts';
import { reasonOf, SCHEMA_VERSION, type Unreadable, UnreadableList } from '../records/unreadable.ts';
import type { Keys, Redis } from '../redis/index.ts';

/**
 * The most lanes of pictures of a worker: each further lane makes every step of the others wait longer. Lanes of less urgent classes do
 * not count. Speech and texts have one lane for each open model, so these are few.
 */
export const MAX_LANES = 4;

/** What every version can read of the report of any other one. */
const WorkerVersionSchema = z.object({
  /** SCHEMA_VERSION of the process. */
  v: z.number().optional(),
  /** The version of Lehr. */
  lehr: z.string().optional(),
});

export type WorkerVersion = z.output<typeof WorkerVersionSchema>;

export const WorkerStatusSchema = WorkerVersionSchema.extend({
  id: z.custom<WorkerId>((value) => typeof value === 'string'),
  started_at: z.number(),
  tasks: known(z.enum(TASKS)),
  draining: z.boolean(),
  /** Why the worker is in quarantine and claims no jobs, in a sentence; absent while it is not. */
  quarantined: z.string().optional(),
  /** Why the worker cannot decode audio, so that its speech jobs fail, in a sentence; absent while it can. */
  audio_problem: z.string().optional(),
  models: known(
    z.object({
      ref: z.string(),
      batching: z.enum(['step', 'aligned']),
      providers: z.record(z.string(), z.string()),
      /** Of a diffusion model: the most tokens of a prompt. */
      max_prompt_tokens: z.int().positive().optional(),
      /** Its adapters that it serves without, with the reason in a sentence; absent where there are none. */
      unusable_adapters: known(z.object({ name: z.string(), reason: z.string() })).optional(),
      /** The same of its ControlNets. */
      unusable_controls: known(z.object({ name: z.string(), reason: z.string() })).optional(),
    }),
  ),
  /** The last death of its engine, in a sentence; absent while it has not died. `at` in ms since the epoch. */
  last_error: z.object({ at: z.number(), message: z.string() }).optional(),
  /** Models that it should serve and cannot open, with the reason in a sentence. */
  unavailable: known(z.object({ ref: z.string(), reason: z.string() })),
  /** Jobs that it has claimed and not ended. */
  jobs: z.int().nonnegative(),
  /** With a memory budget for models: its models, but for `unavailable`. Jobs are claimed for those in `models` only. */
  residency: z
    .object({
      budget_bytes: z.number(),
      models: known(
        z.object({
          ref: z.string(),
          state: z.enum(['known', 'loading', 'loaded', 'unloading']),
          /** The memory that it takes, or probably will. */
          bytes: z.number().nonnegative(),
          /** How long loading it took; 0 before it was measured. */
          load_ms: z.number().nonnegative(),
        }),
      ),
    })
    .optional(),
  lanes: known(
    z.object({
      queue: z.string(),
      rows: z.int().nonnegative(),
      row_cap: z.int().positive(),
      samples: z.int().nonnegative(),
      /** Of the samples, those that pause while more urgent ones have work. */
      paused: z.int().nonnegative(),
      /** Estimated engine ms that its samples have still to go, by class. */
      left_ms: z.object({ interactive: z.number(), standard: z.number(), bulk: z.number() }),
      /** Measured: rows times steps done per second, at the rows it ran with. */
      row_steps_per_s: z.number().nonnegative(),
    }),
  ),
});
export type WorkerStatus = z.output<typeof WorkerStatusSchema>;

/** Reports that are parsed before the process does other work. */
const PARSED_AT_ONCE = 50;
/** A worker that has not reported for this long counts as gone. */
export const WORKER_TTL_MS = 10_000;

/** Returns whether an API process asks for running samples: then the worker reports them too (running.ts). */
export async function reportWorker(redis: Redis, keys: Keys, status: WorkerStatus): Promise<boolean> {
  const replies = await redis
    .pipeline()
    .set(
      keys.worker(status.id),
      JSON.stringify({ v: SCHEMA_VERSION, lehr: OWN_VERSION, ...status }),
      'PX',
      WORKER_TTL_MS,
    )
    .sadd(keys.workers, status.id)
    .exists(keys.runningWatched)
    .exec();
  return replies?.at(-1)?.[1] === 1;
}

export async function forgetWorker(redis: Redis, keys: Keys, id: WorkerId): Promise<void> {
  await redis.pipeline().del(keys.worker(id), keys.runningOn(id)).srem(keys.workers, id).exec();
}

/** How many workers reported within WORKER_TTL_MS. */
export async function countWorkers(redis: Redis, keys: Keys): Promise<number> {
  const ids = (await redis.smembers(keys.workers)) as WorkerId[];
  return ids.length === 0 ? 0 : redis.exists(ids.map((id) => keys.worker(id)));
}

/** The versions of those that reported within WORKER_TTL_MS; empty where a report has a form that is unknown here. */
export async function readWorkerVersions(redis: Redis, keys: Keys): Promise<WorkerVersion[]> {
  const ids = await redis.smembers(keys.workers);
  if (ids.length === 0) return [];
  const texts = await redis.mget(ids.map((id) => keys.worker(id as WorkerId)));
  return texts.flatMap((text) => (text === null ? [] : [parsedStored(WorkerVersionSchema, text) ?? {}]));
}

/** The workers that reported within WORKER_TTL_MS, without those whose report cannot be read; the ids of all others are removed. */
export async function readFleet(redis: Redis, keys: Keys): Promise<WorkerStatus[]> {
  const ids = (await redis.smembers(keys.workers)) as WorkerId[];
  if (ids.length === 0) return [];
  const reports = await redis.mget(ids.map((id) => keys.worker(id)));
  const silent = ids.filter((_, i) => reports[i] === null);
  if (silent.length > 0) await redis.srem(keys.workers, ...silent);
  const parsed: ReturnType<typeof parseReport>[] = [];
  for (const [i, report] of reports.entries()) {
    if (report !== null) parsed.push(parseReport(ids[i], report));
    // A thousand reports take more than ten milliseconds.
    if (i % PARSED_AT_ONCE === PARSED_AT_ONCE - 1) await setImmediate();
  }
  new UnreadableList(redis, keys).add(parsed.flatMap(({ unreadable }) => unreadable ?? []));
  return parsed.flatMap(({ status }) => status ?? []);
}

function parseReport(id: WorkerId, text: string): { status?: WorkerStatus; unreadable?: Unreadable } {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch {
    return { unreadable: { id, version: undefined, reason: 'is not JSON' } };
  }
  const { success, data, error } = WorkerStatusSchema.safeParse(report);
  if (success) return { status: data };
  const { v } = (report ?? {}) as { v?: unknown };
  return { unreadable: { id, version: typeof v === 'number' ? v : undefined, reason: reasonOf(error) } };
}

/** An API process that has not reported for this long counts as gone. */
const API_PROCESS_TTL_MS = 15_000;

interface ApiProcess {
  readonly id: string;
  readonly lehr: string;
  /** SCHEMA_VERSION of the process. */
  readonly v: number;
  /** As in LEHR_ROLES. */
  readonly roles: string;
}

export async function reportApiProcess(
  redis: Redis,
  keys: Keys,
  { id, roles }: Pick<ApiProcess, 'id' | 'roles'>,
): Promise<void> {
  const text = JSON.stringify({ id, roles, lehr: OWN_VERSION, v: SCHEMA_VERSION } satisfies ApiProcess);
  await redis
    .pipeline()
    .set(keys.apiProcess(id), text, 'PX', API_PROCESS_TTL_MS)
    .sadd(keys.apiProcesses, id)
    .exec();
}

export async function forgetApiProcess(redis: Redis, keys: Keys, id: string): Promise<void> {
  await redis.pipeline().del(keys.apiProcess(id)).srem(keys.apiProcesses, id).exec();
}

/** The versions of those that reported within API_PROCESS_TTL_MS; empty where a report has a form that is unknown here. */
export async function readApiProcesses(redis: Redis, keys: Keys): Promise<WorkerVersion[]> {
  const ids = await redis.smembers(keys.apiProcesses);
  if (ids.length === 0) return [];
  const texts = await redis.mget(ids.map((id) => keys.apiProcess(id)));
  const silent = ids.filter((_, i) => texts[i] === null);
  if (silent.length > 0) await redis.srem(keys.apiProcesses, ...silent);
  return texts.flatMap((text) => (text === null ? [] : [parsedStored(WorkerVersionSchema, text) ?? {}]));
}
