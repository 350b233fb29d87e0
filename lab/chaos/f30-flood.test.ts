import { expect } from 'vitest';
import type { Job, NewApiKey } from '../../packages/shared/src/index.ts';
import { chaosWorld } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';
import { RecordedClient } from './recorded-client.ts';

const FLOOD = 10_000;
const LATE = 10;
const ROWS = 16;
const AT_ONCE = 20;
/** Of 15 ms, so a batch of ten takes a sixth of a second and the flood several minutes. */
const STEP = { stepBaseMs: 12, stepPerRowMs: 0, pictureMs: 0, textMs: 0 };
const INPUT = { steps: 10, guidance: 1, sampler: 'ddim' };

faultRow(
  {
    row: 'F30',
    injected: `one tenant posts ${FLOOD} jobs, then another one ${LATE}; one worker with ${ROWS} rows`,
    promised:
      'A tenant that floods the queue delays the first jobs of another tenant by two batches at most.',
  },
  async () => {
    const world = await chaosWorld({ env: { LEHR_MAX_WAIT_S: '1e9' } });
    const { client, history } = world;
    const flood = await postMany(client, FLOOD);
    // No speed is reported: prices made from speeds of a busy machine would make the late jobs cost more than the early ones.
    const times = { reportEveryMs: 3_600_000 };
    await world.worker({ latency: STEP, rowCap: ROWS, times, leaseMs: 30_000, stalledCheckMs: 5_000 });
    await client.ended(flood[0], 300_000);
    const response = await client.ask('POST', '/v1/keys', { tenant: 'late', name: 'late' });
    const { key } = (await response.json()) as NewApiKey;
    const other = new RecordedClient({ url: () => world.url, key, history });
    const late = await other.submitMany(LATE, () => ({ input: INPUT }));
    const ended = await Promise.all(late.map((id) => other.ended(id, 600_000)));
    const waitMs = ended.map((job) => Date.parse(job?.started_at ?? '') - Date.parse(job?.created_at ?? ''));
    const left = await client.read(flood.at(-1) ?? '');
    expect(left?.status, 'the flood still waits').toBe('queued');
    const verdict = await judge(world, {
      drainMs: 1_200_000,
      deletes: false,
      readers: new Map(late.map((id) => [id, other])),
    });
    expectKept(verdict);
    const starts = startsOf(history.ends);
    const batches = late.map((id) => {
      const { createdAt, startedAt } = starts.get(id) ?? { createdAt: 0, startedAt: 0 };
      const before = [...starts.values()].filter(
        (each) => each.startedAt > createdAt && each.startedAt <= startedAt,
      );
      return before.length / ROWS;
    });
    expect(Math.max(...batches)).toBeLessThanOrEqual(2);
    return {
      seen: `all ${verdict.succeeded} jobs succeeded`,
      figures: {
        'longest wait of the late jobs': `${Math.max(...batches).toFixed(1)} batches, ${(Math.max(...waitMs) / 1000).toFixed(1)} s`,
      },
    };
  },
);

async function postMany(client: RecordedClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  let left = count;
  const poster = async (): Promise<void> => {
    while (left-- > 0) ids.push(await client.submitUntilAccepted({ input: INPUT }));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, poster));
  return ids;
}

function startsOf(ends: readonly Job[]): Map<string, { createdAt: number; startedAt: number }> {
  return new Map(
    ends.map(({ id, created_at, started_at }) => [
      id,
      { createdAt: Date.parse(created_at), startedAt: Date.parse(started_at ?? '') },
    ]),
  );
}
