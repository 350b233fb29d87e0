import { setTimeout as delay } from 'node:timers/promises';
import { chaosWorld, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';
import { startLoad } from './recorded-client.ts';
import { testConnection } from './redis-admin.ts';

const PAUSE_MS = 20_000;

faultRow(
  {
    row: 'F7',
    injected: 'Redis answers no command for 20 s (CLIENT PAUSE), under load (lease 30 s, renewed every 5 s)',
    promised: 'No job runs twice while the pause is shorter than the lease, and callers are refused quickly.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, redis, webhook } = world;
    const times = { renewEveryMs: 5000, janitorEveryMs: 5000 };
    for (let i = 0; i < 2; i++) {
      await world.worker({ leaseMs: 30_000, stalledCheckMs: 5000, times, latency: SLOW_STEPS });
    }
    const load = startLoad(client, 4, 100, () => ({ webhook, input: { steps: 10 } }));
    await client.ended(await client.submitUntilAccepted());
    const admin = await testConnection(redis.url);
    const pausedAt = history.fault('CLIENT PAUSE');
    await admin.client('PAUSE', PAUSE_MS, 'ALL');
    await delay(PAUSE_MS);
    const resumedAt = history.fault('the pause is over');
    await client.ended(await client.submitUntilAccepted());
    await load.stop();
    const verdict = await judge(world, { hasUnanswered: true });
    expectKept(verdict);
    if (verdict.repeatedAttempts > 0) throw new Error(`${verdict.repeatedAttempts} attempts were repeated`);
    const refused = history.submissions.filter(({ result }) => result === 'refused').length;
    return {
      seen: `${verdict.accepted} accepted jobs succeeded in their first attempt; ${refused} submissions refused`,
      figures: {
        'first job done after the pause': seconds(history.recoveryMs(resumedAt)),
        'slowest answer during it': seconds(history.slowestAnswerMs(pausedAt, resumedAt - 3000)),
      },
    };
  },
);
