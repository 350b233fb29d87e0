import { expect } from 'vitest';
import { chaosWorld, LONG_LEASE, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

faultRow(
  {
    row: 'F15',
    tags: ['long'],
    injected: 'the device has memory for 4 rows, and eight jobs of two rows each are to share a batch of 16',
    promised: 'The batch is split, the worker remembers how many rows fit, and no job fails.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    const fields = () => ({ webhook, input: { steps: 8, guidance: 5 } });
    await client.submitMany(8, fields);
    const worker = await world.worker({
      ...LONG_LEASE,
      latency: SLOW_STEPS,
      faulty: true,
      env: { TEST_DEVICE_ROWS: '4' },
    });
    await client.submitMany(8, fields);
    const verdict = await judge(world);
    expectKept(verdict);
    expect(verdict).toMatchObject({ succeeded: 16, repeatedAttempts: 0 });
    const crashes = worker.lines.filter(({ msg }) => msg === 'engine died').length;
    expect(crashes).toBe(0);
    return { seen: '16 of 16 jobs succeeded in their first attempt; the engine did not crash' };
  },
);
