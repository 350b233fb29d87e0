import { chaosWorld, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';
import { startLoad } from './recorded-client.ts';
import { replicatedRedis } from './replicated-redis.ts';

const LAG_MS = 300;

faultRow(
  {
    row: 'F10',
    injected:
      'kill -9 of the master of Redis, whose replica is 300 ms behind; three Sentinels promote the replica; under load',
    promised:
      'Only jobs accepted within the replication lag can be lost, and all processes follow to the new master.',
  },
  async () => {
    const { master, replica, url, promoted } = await replicatedRedis();
    const world = await chaosWorld({ redis: replica, redisUrl: url });
    const { client, history, webhook } = world;
    for (let i = 0; i < 2; i++) await world.worker({ latency: SLOW_STEPS });
    const load = startLoad(client, 4, 20, () => ({ webhook, input: { steps: 10 } }));
    await client.ended(await client.submitUntilAccepted());
    const lagFrom = history.fault('the replica is frozen');
    replica.freeze();
    await new Promise((resolve) => setTimeout(resolve, LAG_MS));
    await master.kill();
    const killedAt = history.fault('kill -9 of the master');
    replica.thaw();
    await promoted();
    const promotedAt = history.fault('the replica is the master');
    await client.ended(await client.submitUntilAccepted());
    await load.stop();
    const inLag = new Set(
      history.submissions.flatMap(({ at, ms, id }) =>
        // Answered after the replica was frozen, or just before: what it had not read yet is lost with the master too.
        id !== undefined && at + ms > lagFrom - 1000 && at < killedAt ? [id] : [],
      ),
    );
    const verdict = await judge(world, { hasUnanswered: true, mayBeLost: (id) => inLag.has(id) });
    expectKept(verdict);
    return {
      seen: `${verdict.accepted} accepted jobs; ${verdict.lost} of the ${inLag.size} accepted within the lag were lost, none of the others`,
      figures: {
        'replica promoted after': seconds(promotedAt - killedAt),
        'first job done after that': seconds(history.recoveryMs(promotedAt)),
      },
    };
  },
);
