import { NAN_PROMPT } from '../../test/support/faulty-device.ts';
import { chaosWorld, LONG_LEASE, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

faultRow(
  {
    row: 'F16',
    tags: ['long'],
    injected: 'the predictions of one job of a batch of eight are NaN',
    promised: 'That job fails as numeric-error and shows no picture; the seven others succeed.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    const ids = await client.submitMany(8, (index) => ({
      webhook,
      input: { steps: 8, prompt: index === 5 ? NAN_PROMPT : 'a circle' },
    }));
    await world.worker({ ...LONG_LEASE, latency: SLOW_STEPS, faulty: true });
    const bad = await client.ended(ids[5]);
    if (bad?.error?.code !== 'numeric-error' || bad.output !== null) {
      throw new Error(`the job with NaN is ${bad?.status} ${JSON.stringify(bad?.error)}`);
    }
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.succeeded !== 7) throw new Error(`${verdict.succeeded} of 7 other jobs succeeded`);
    return { seen: 'the job failed as numeric-error without an output; 7 of 7 others succeeded' };
  },
);
