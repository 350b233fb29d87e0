import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const LOG = 'appendonlydir/appendonly.aof.1.incr.aof';

faultRow(
  {
    row: 'F6c',
    injected:
      'the machine of Redis dies: the part of its log that was not on the disk is lost, with 20 of 40 accepted jobs',
    promised: 'Only jobs of the lost part are gone, and each is accepted again with its Idempotency-Key.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, redis, webhook } = world;
    const log = join(redis.folder, LOG);
    const kept = await client.submitMany(20, () => ({ webhook, input: { steps: 4 } }));
    // The log is written before the answer, so all of these jobs are in it.
    const { size } = await stat(log);
    const cut: string[] = [];
    for (let i = 0; i < 20; i++) {
      cut.push(await client.submitUntilAccepted({ webhook, input: { steps: 4 } }, `cut-${i}`));
    }
    expect((await stat(log)).size).toBeGreaterThan(size);
    history.fault('kill -9 of Redis, and its log is cut');
    await redis.kill();
    await truncate(log, size);
    await redis.restart();
    const again: string[] = [];
    for (let i = 0; i < 20; i++) {
      again.push(await client.submitUntilAccepted({ webhook, input: { steps: 4 } }, `cut-${i}`));
    }
    expect(new Set([...kept, ...again]).size).toBe(40);
    await world.worker({ latency: QUICK_STEPS });
    const verdict = await judge(world, { mayBeLost: (id) => cut.includes(id) && !again.includes(id) });
    expectKept(verdict);
    expect(verdict.succeeded).toBe(40);
    return {
      seen: `20 of 20 jobs before the cut succeeded; of 20 behind it, ${verdict.lost} were lost, and all succeeded when posted again`,
    };
  },
);
