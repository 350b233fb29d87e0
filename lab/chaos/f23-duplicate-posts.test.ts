import { expect } from 'vitest';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const POSTS = 50;

faultRow(
  {
    row: 'F23',
    injected: `${POSTS} equal POSTs at once with one Idempotency-Key, then one with the same key and another body`,
    promised: 'One Idempotency-Key makes one job; with another body it is refused.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    await world.worker({ latency: QUICK_STEPS });
    const key = 'one-key-for-all-of-them';
    const ids = await Promise.all(
      Array.from({ length: POSTS }, () => client.submitUntilAccepted({ webhook }, key)),
    );
    const jobs = new Set(ids);
    expect(jobs.size).toBe(1);
    const other = { type: 'text-to-image', input: { prompt: 'a green square' } };
    const mismatch = await client.ask('POST', '/v1/jobs', other, { 'idempotency-key': key });
    expect(mismatch.status).toBe(422);
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `${ids.length} posts were answered with the same job, and the other body with ${mismatch.status}`,
      figures: { jobs: jobs.size },
    };
  },
);
