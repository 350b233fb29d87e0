import { chaosWorld, QUICK_STEPS, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

faultRow(
  {
    row: 'F3',
    injected:
      'SIGSTOP of a worker past its leases (3 s) while it runs four jobs; SIGCONT after another one ran them',
    promised: 'The other worker runs the jobs, and the frozen one publishes nothing when it goes on.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, webhook } = world;
    const frozen = await world.worker({ latency: SLOW_STEPS });
    const ids = await client.submitMany(4, () => ({ webhook, input: { steps: 200 } }));
    await client.reached(ids, 'running');
    const frozenAt = history.fault('SIGSTOP');
    frozen.signal('SIGSTOP');
    await world.worker({ latency: QUICK_STEPS });
    for (const id of ids) await client.ended(id);
    history.fault('SIGCONT');
    frozen.signal('SIGCONT');
    const dropped = await frozen.line(
      ({ msg }) => msg === 'lease lost' || msg.includes('this result is dropped'),
    );
    const verdict = await judge(world);
    expectKept(verdict);
    return {
      seen: `each of ${verdict.accepted} jobs has one end and one output; the frozen worker logged "${dropped.msg}"`,
      figures: { 'first job done after': seconds(history.recoveryMs(frozenAt)) },
    };
  },
);
