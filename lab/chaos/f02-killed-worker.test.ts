import { chaosWorld, QUICK_STEPS, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

faultRow(
  {
    row: 'F2',
    injected:
      'kill -9 of a worker, parent and engine, while it runs eight jobs; another worker is alive (lease 3 s)',
    promised: 'Another worker runs the jobs of a killed worker after their leases have expired.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, webhook } = world;
    const worker = await world.worker({ latency: SLOW_STEPS });
    const ids = await client.submitMany(8, () => ({ webhook, input: { steps: 400 } }));
    await client.reached(ids, 'running');
    const { engine } = await worker.logged('simulated worker serves');
    const killedAt = history.fault('kill -9');
    worker.signal('SIGKILL');
    process.kill(Number(engine), 'SIGKILL');
    await worker.exited();
    await world.worker({ latency: QUICK_STEPS });
    const verdict = await judge(world);
    expectKept(verdict);
    const { accepted, succeeded, repeatedAttempts } = verdict;
    return {
      seen: `${succeeded} of ${accepted} jobs succeeded, ${repeatedAttempts} in a second attempt`,
      figures: { 'first job done after': seconds(history.recoveryMs(killedAt)) },
    };
  },
);
