/**
 * Two equal tenants over three simulated days: the clock is simulated, the queue is real. One fleet has nine rows, a job takes one
 * minute, and each tenant posts 20,000 jobs, one tenant all at once and the other over the days. A new tenant comes every hour.
 */
import { newWorkerId, type TenantId } from '../../packages/shared/src/index.ts';
import { AttemptStore, GroupQueues } from '../../packages/shared/src/queue/index.ts';
import { RecordStore } from '../../packages/shared/src/records/index.ts';
import { openRedis, redisReady } from '../../packages/shared/src/redis/index.ts';
import { largest, shares, smallest } from './figures.ts';
import { GROUPS, KEYS as keys, openJobMaker, tenantAt } from './jobs.ts';

export interface TwoTenantsResult {
  readonly days: number;
  readonly served: number;
  /** The smallest and the largest number of jobs of one tenant in 100 consecutive ones, while both had jobs waiting. */
  readonly least: number;
  readonly most: number;
  readonly newcomers: number;
  /** The longest wait of a newcomer's first job, in batches of all rows. */
  readonly longestWait: number;
}

const ROWS = 9;
const JOBS_EACH = 20_000;
const MINUTES_PER_DAY = 1440;
const NEWCOMER_EVERY_MINUTES = 60;
const GROUP = GROUPS[0];
const [A, B] = [tenantAt(0), tenantAt(1)];
const AT_ONCE = 200;

export async function twoTenants(url: string, days: number): Promise<TwoTenantsResult> {
  const maker = await openJobMaker(url);
  const commands = openRedis(url, 'worker');
  await redisReady(commands);
  const worker = newWorkerId('days');
  const queues = await GroupQueues.open(commands, keys);
  const records = new RecordStore(commands, keys, { retentionMs: 60_000 });
  const store = new AttemptStore({ redis: commands, keys, records, worker, leaseMs: queues.leaseMs });
  const submit = async (tenant: TenantId, count: number): Promise<void> => {
    for (let left = count; left > 0; left -= AT_ONCE) {
      await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, () => maker.submit(tenant, GROUP)));
    }
  };
  const minutes = days * MINUTES_PER_DAY;
  const perDay = JOBS_EACH / days;
  const waits = new Map<string, number>();
  const order: string[] = [];
  await submit(A, JOBS_EACH);
  for (let minute = 0; minute < minutes; minute++) {
    if (minute % MINUTES_PER_DAY === 0) await submit(B, perDay);
    if (minute % NEWCOMER_EVERY_MINUTES === 0) {
      const newcomer = tenantAt(1000 + minute);
      waits.set(newcomer, -minute);
      await submit(newcomer, 1);
    }
    const started = await store.start(GROUP, ROWS);
    for (const { outcome } of started) {
      const { record } = outcome ?? {};
      if (!record) throw new Error('A claimed job has no record.');
      order.push(record.tenant);
      if (waits.has(record.tenant)) waits.set(record.tenant, minute + 1 + (waits.get(record.tenant) ?? 0));
    }
    const fields = { output: { images: [] }, metrics: {} };
    await Promise.all(
      started.map(({ claim }) =>
        store.end(claim, { move: 'succeed', id: claim.jobId, lease: claim.token, fields }),
      ),
    );
  }
  for (const redis of [maker.redis, commands]) redis.disconnect();
  const ofBoth = order.filter((tenant) => tenant === A || tenant === B);
  const counts = shares(ofBoth, [A, B], 100).flat();
  return {
    days,
    served: order.length,
    least: smallest(counts),
    most: largest(counts),
    newcomers: waits.size,
    longestWait: largest([...waits.values()]),
  };
}
