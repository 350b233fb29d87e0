import { expect } from 'vitest';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

const JOBS = 8;

faultRow(
  {
    row: 'F22',
    injected: `kill -9 of the API while ${JOBS} jobs wait, and of the worker when it has written the first end; both are started again`,
    promised:
      'The webhook of an end is delivered although every process died between the end and the delivery.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, receiver, history, webhook } = world;
    await client.submitMany(JOBS, () => ({ webhook }));
    world.api.signal('SIGKILL');
    await world.api.exited();
    const worker = await world.worker({ latency: QUICK_STEPS, rowCap: 2 });
    await worker.logged('job succeeded');
    history.fault('kill -9 of the worker');
    worker.signal('SIGKILL');
    await worker.exited();
    expect(receiver.received).toEqual([]);
    const from = performance.now();
    await world.startApi();
    const [first] = await receiver.until(1, 60_000);
    const firstMs = first.at - from;
    await world.worker({ latency: QUICK_STEPS });
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `the ends of all ${verdict.accepted} jobs were delivered, each with one id`,
      figures: { 'first delivery after the start of the API': seconds(firstMs) },
    };
  },
);
