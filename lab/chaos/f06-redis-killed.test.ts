import { setTimeout as delay } from 'node:timers/promises';
import { type ChaosWorld, chaosWorld, SHORT_LEASE, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, type Seen, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';
import { startLoad } from './recorded-client.ts';

/** Callers submit all along; Redis is killed and started again after `downMs`. */
async function outage(world: ChaosWorld, leaseMs: number, downMs: number): Promise<Seen> {
  const { client, history, redis, webhook } = world;
  for (let i = 0; i < 2; i++) await world.worker({ ...SHORT_LEASE, leaseMs, latency: SLOW_STEPS });
  const load = startLoad(client, 4, 100, () => ({ webhook, input: { steps: 10 } }));
  // They run when Redis dies, and end while it is down.
  await client.reached(await client.submitMany(4, () => ({ webhook, input: { steps: 100 } })), 'running');
  const killedAt = history.fault('kill -9 of Redis');
  await redis.kill();
  await delay(downMs);
  const before = Date.now();
  await redis.restart();
  const backAt = history.fault('Redis is back');
  await client.ended(await client.submitUntilAccepted());
  await load.stop();
  const verdict = await judge(world, { hasUnanswered: true });
  expectKept(verdict);
  const refused = history.submissions.filter(({ result }) => result === 'refused').length;
  const { accepted, succeeded, repeatedAttempts } = verdict;
  return {
    seen:
      `${accepted} accepted jobs, 0 lost, ${succeeded} succeeded, ${repeatedAttempts} attempts repeated; ` +
      `${refused} submissions refused during the outage`,
    figures: {
      'first job done after Redis was back': seconds(history.recoveryMs(backAt)),
      'slowest refusal': seconds(history.slowestAnswerMs(killedAt, before)),
    },
  };
}

faultRow(
  {
    row: 'F6a',
    injected: 'kill -9 of Redis, which is down for 5 s, under load (lease 30 s)',
    promised: 'No accepted job is lost, callers are refused quickly, and all processes go on without help.',
  },
  async () => outage(await chaosWorld(), 30_000, 5000),
);

faultRow(
  {
    row: 'F6b',
    injected:
      'kill -9 of Redis, which is down for 45 s and so longer than the leases, under load (lease 30 s)',
    promised: 'No accepted job is lost, and a job that ran when Redis died is run again at most once.',
  },
  async () => outage(await chaosWorld(), 30_000, 45_000),
);
