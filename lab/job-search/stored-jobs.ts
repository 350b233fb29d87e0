/** Many ended jobs in Redis: copies of two that the scripts of the API and of workers have made and ended. */
import {
  DEFAULT_TENANT,
  firstJobIdAt,
  type JobId,
  newJobId,
  newLeaseToken,
  newWorkerId,
} from '../../packages/shared/src/index.ts';
import { CREATE_LUA, type NewJob, RecordStore } from '../../packages/shared/src/records/index.ts';
import { defineScript, type Keys, type Redis } from '../../packages/shared/src/redis/index.ts';
import { INPUT } from '../simulation/jobs.ts';

const AT_ONCE = 100;
const DAY_MS = 86_400_000;
/** The jobs are spread over this time, which is less than records are kept. */
const SPAN_MS = 6 * DAY_MS;
const RETENTION_MS = 7 * DAY_MS;
/** Digits of an id after those of its time. */
const TAIL_DIGITS = 16;
const FAILED_OF = 7;
const MODEL = 'sd@1';

export type LabelsOf = (place: number) => Readonly<Record<string, string>>;

export interface StoredJobs {
  readonly count: number;
  /** Of the oldest job, Unix ms, and from each to the next one. */
  readonly firstAt: number;
  readonly stepMs: number;
  /** By its place, from the oldest one. */
  idAt(place: number): JobId;
}

/** Copies a record to each of the jobs in ARGV[2], and lists them as the end of a job does. KEYS and ARGV as in transition.lua. */
const COPY_LUA = `${CREATE_LUA}
local tenant, jobs, records = unpack(cjson.decode(ARGV[2]))
for _, job in ipairs(jobs) do
  local id, metadata, state = job[1], job[2], job[3]
  local key = prefix .. ':record:' .. id
  redis.call('HSET', key, unpack(records[state]))
  redis.call('HSET', key, 'id', id, 'metadata', metadata)
  redis.call('PEXPIRE', key, retention)
  list_job(id, tenant)
  list_ended(id, tenant, state)
  list_labels(id, tenant, metadata, true)
end`;

/** Every seventh one failed, all others succeeded. */
export async function storeJobs(
  redis: Redis,
  keys: Keys,
  count: number,
  labelsOf: LabelsOf,
): Promise<StoredJobs> {
  const copied = await endTwo(redis, keys);
  const script = defineScript(redis, 'labCopyJobs', COPY_LUA);
  const stepMs = SPAN_MS / count;
  const firstAt = Date.now() - SPAN_MS;
  const idAt = (place: number): JobId =>
    `${firstJobIdAt(Math.floor(firstAt + place * stepMs))}${String(place).padStart(TAIL_DIGITS, '0')}` as JobId;
  const storeSome = async (from: number): Promise<void> => {
    const places = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, i) => from + i);
    const jobs = places.map((place) => [
      ...[idAt(place), JSON.stringify(labelsOf(place))],
      place % FAILED_OF === 0 ? 'failed' : 'succeeded',
    ]);
    const args = [keys.prefix, JSON.stringify([DEFAULT_TENANT, jobs, copied]), `${RETENTION_MS}`];
    await script.run([keys.live], args);
  };
  let next = 0;
  const storeRest = async (): Promise<void> => {
    while (next < count) {
      next += AT_ONCE;
      await storeSome(next - AT_ONCE);
    }
  };
  // One script waits while another one runs.
  await Promise.all([storeRest(), storeRest(), storeRest()]);
  return { count, firstAt, stepMs, idAt };
}

/** Jobs that the scripts of the API and of workers have made and ended; their records by state, as flat hashes. */
async function endTwo(redis: Redis, keys: Keys): Promise<Readonly<Record<string, string[]>>> {
  const records = new RecordStore(redis, keys, { retentionMs: RETENTION_MS });
  const lease = newLeaseToken(newWorkerId('lab'));
  const copied: Record<string, string[]> = {};
  for (const end of ENDS) {
    const id = newJobId();
    await records.create({ ...JOB, id }, async () => {});
    await records.apply([
      { move: 'start', id, lease, fields: { worker: 'lab' } },
      { ...end, id, lease },
    ]);
    const record = await redis.hgetall(keys.record(id));
    copied[record.state] = Object.entries(record).flat();
    await redis.del(keys.record(id));
  }
  return copied;
}

/** As long as jobs usually are: memory depends on it. */
const JOB: Omit<NewJob, 'id'> = {
  tenant: DEFAULT_TENANT,
  type: 'text-to-image',
  model: MODEL,
  queue: `diffusion.${MODEL}.512x512`,
  priority: 'standard',
  cost: 20_000,
  payer: { key: 'key_0123456789', budget_ms: null, weight: 1 },
  input: INPUT,
  metadata: {},
  deadline_at: undefined,
};

const OUTPUT = {
  images: [
    {
      key: `out/${DEFAULT_TENANT}/${newJobId()}/0.png`,
      content_type: 'image/png',
      ...{ width: 512, height: 512, bytes: 412_345, sha256: 'a'.repeat(64), seed: 123_456_789 },
    },
  ],
};
const METRICS = {
  ...{ queue_ms: 812, run_ms: 20_312, total_ms: 21_124, batch_size: 5.4, worker: 'lab', device_ms: 3712.5 },
  timings: { queued: 812, admitted: 102, text: 41, denoise: 19_204, decode: 512, encode: 143, upload: 310 },
};
const ERROR = { code: 'engine-crashed', title: 'The engine crashed', detail: 'It ended.', retryable: true };

const ENDS = [
  { move: 'succeed', fields: { output: OUTPUT, metrics: METRICS } },
  { move: 'fail', fields: { error: ERROR } },
] as const;
