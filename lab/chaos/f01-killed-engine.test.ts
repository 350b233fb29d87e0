import { chaosWorld, LONG_LEASE, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

faultRow(
  {
    row: 'F1',
    injected: 'kill -9 of the engine process in the middle of a batch of eight jobs',
    promised: 'The worker starts its engine again and runs the batch again, without an attempt spent.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, webhook } = world;
    const worker = await world.worker({ ...LONG_LEASE, latency: SLOW_STEPS });
    const { engine } = await worker.logged('simulated worker serves');
    const ids = await client.submitMany(8, () => ({ webhook, input: { steps: 60 } }));
    await client.reached(ids, 'running');
    const killedAt = history.fault('kill -9 of the engine');
    process.kill(Number(engine), 'SIGKILL');
    await worker.logged('engine died');
    const noticedMs = Date.now() - killedAt;
    const verdict = await judge(world);
    expectKept(verdict);
    if (verdict.repeatedAttempts > 0) throw new Error(`${verdict.repeatedAttempts} attempts were spent`);
    return {
      seen: `${verdict.succeeded} of ${verdict.accepted} jobs succeeded in their first attempt`,
      figures: {
        'noticed after': seconds(noticedMs),
        'first job done after': seconds(history.recoveryMs(killedAt)),
      },
    };
  },
);
