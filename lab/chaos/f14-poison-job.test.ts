import { chaosWorld, LONG_LEASE, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

faultRow(
  {
    row: 'F14',
    injected: 'one job of a batch of eight crashes the engine whenever it runs (SIGSEGV)',
    promised: 'Halving the batch finds the job, which fails as engine-crashed; the seven others succeed.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    const ids = await client.submitMany(8, (index) => ({
      webhook,
      input: { steps: 20, prompt: index === 5 ? 'CRASH' : 'a circle' },
    }));
    const worker = await world.worker({ ...LONG_LEASE, latency: SLOW_STEPS, faulty: true });
    const bad = await client.ended(ids[5]);
    if (bad?.error?.code !== 'engine-crashed')
      throw new Error(`the poison job is ${JSON.stringify(bad?.error)}`);
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.succeeded !== 7) throw new Error(`${verdict.succeeded} of 7 other jobs succeeded`);
    const crashes = worker.lines.filter(({ msg }) => msg === 'engine died').length;
    // Once in a batch of 8, 4 and 2, and once alone.
    if (crashes > 4) throw new Error(`the engine crashed ${crashes} times`);
    return { seen: `7 of 7 other jobs succeeded; the engine crashed ${crashes} times` };
  },
);
