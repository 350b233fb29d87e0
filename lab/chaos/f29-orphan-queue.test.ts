import { expect } from 'vitest';
import { chaosWorld, QUICK_STEPS, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

const JOBS = 8;

faultRow(
  {
    row: 'F29',
    injected: `kill -9 of the only worker, parent and engine, while it runs ${JOBS} jobs; no worker is left, and one starts later`,
    promised: 'The jobs of a queue that no worker serves go back to waiting, and the next worker runs them.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, webhook } = world;
    const worker = await world.worker({ latency: SLOW_STEPS });
    const ids = await client.submitMany(JOBS, () => ({ webhook, input: { steps: 400 } }));
    await client.reached(ids, 'running');
    const { engine } = await worker.logged('simulated worker serves');
    const from = performance.now();
    worker.signal('SIGKILL');
    process.kill(Number(engine), 'SIGKILL');
    await worker.exited();
    const states = async () => Promise.all(ids.map(async (id) => (await client.read(id))?.status));
    await expect.poll(states, { timeout: 120_000, interval: 200 }).toEqual(ids.map(() => 'queued'));
    const backMs = performance.now() - from;
    await world.worker({ latency: QUICK_STEPS });
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `an API process put all ${JOBS} jobs back in their queue, and ${verdict.succeeded} succeeded in the next worker`,
      figures: { 'queued again after': seconds(backMs) },
    };
  },
);
