import { expect } from 'vitest';
import { type FollowedEvent, Lehr } from '../../packages/client/src/index.ts';
import { chaosWorld } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const JOBS = 8;
/** Long enough to be running while the API is away: of 20 ms each or more. */
const STEPS = 900;
const STEP = { stepBaseMs: 20, stepPerRowMs: 0, pictureMs: 5, textMs: 1 };

faultRow(
  {
    row: 'F26',
    injected: `kill -9 of the API while ${JOBS} callers follow a job each by events and ${JOBS} wait for its end; it is started again`,
    promised:
      'A caller that reconnects with the id of its last event gets every later event once, the end included.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    await world.worker({ latency: STEP, rowCap: 32 });
    const ids = await client.submitMany(JOBS, () => ({ webhook, input: { steps: STEPS } }));
    const lehr = new Lehr({ url: world.url, apiKey: client.key, maxRetries: 100 });
    const seen = new Map<string, FollowedEvent[]>(ids.map((id) => [id, []]));
    const follow = async (id: string): Promise<void> => {
      for await (const event of lehr.stream(id, { previews: false })) seen.get(id)?.push(event);
    };
    const followers = ids.map(follow);
    const waiters = ids.map((id) => lehr.wait(id, { timeoutMs: 240_000 }));
    await client.reached(ids, 'running');
    await expect
      .poll(() => [...seen.values()].every((events) => events.length > 1), { timeout: 60_000 })
      .toBe(true);
    world.api.signal('SIGKILL');
    await world.api.exited();
    await world.startApi();
    await Promise.all(followers);
    const ends = await Promise.all(waiters);
    expect(ends.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'));
    for (const events of seen.values()) {
      const numbers = events.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      expect(events.filter(({ type }) => type === 'job.succeeded')).toHaveLength(1);
      expect(events.at(-1)?.type).toBe('job.succeeded');
    }
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `${JOBS} streams continued and ended with the end of their job, ${JOBS} waiting calls returned it`,
      figures: { 'missed ends': 0, 'events seen twice': 0 },
    };
  },
);
