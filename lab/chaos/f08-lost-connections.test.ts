import { setTimeout as delay } from 'node:timers/promises';
import { readEvents } from '../../test/support/event-stream.ts';
import { operatorUrl } from '../../test/support/redis-server.ts';
import { tcpProxy } from '../../test/support/tcp-proxy.ts';
import { chaosWorld, SLOW_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';
import { startLoad } from './recorded-client.ts';
import { testConnection } from './redis-admin.ts';

const KILLS = 15;

faultRow(
  {
    row: 'F8a',
    injected: 'every connection to Redis is closed, every 2 s for 30 s, under load (CLIENT KILL)',
    promised:
      'No process needs help, no accepted job is lost, and an event stream reports the end of its job.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, redis, webhook } = world;
    for (let i = 0; i < 2; i++) await world.worker({ latency: SLOW_STEPS, leaseMs: 10_000 });
    const followed = await client.submitUntilAccepted({ input: { steps: 200 } });
    const stream = await client.ask('GET', `/v1/jobs/${followed}/events`);
    const lastEvent = lastOf(stream);
    const load = startLoad(client, 4, 100, () => ({ webhook, input: { steps: 10 } }));
    const admin = await testConnection(redis.url);
    for (let i = 0; i < KILLS; i++) {
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await delay(2000);
    }
    const overAt = history.fault('the last connection was closed');
    await client.ended(await client.submitUntilAccepted());
    await load.stop();
    const verdict = await judge(world, { hasUnanswered: true });
    expectKept(verdict);
    const end = await lastEvent;
    if (end !== 'job.succeeded') throw new Error(`the event stream ended with ${end}`);
    const refused = history.submissions.filter(({ result }) => result !== 'accepted').length;
    return {
      seen:
        `${verdict.accepted} accepted jobs, 0 lost, ${verdict.repeatedAttempts} attempts repeated; ${refused} submissions refused; ` +
        'the stream ended with job.succeeded',
      figures: { 'first job done afterwards': seconds(history.recoveryMs(overAt)) },
    };
  },
);

async function lastOf(stream: Response): Promise<string> {
  let last = 'nothing';
  for await (const { event } of readEvents(stream)) last = event;
  return last;
}

const SILENCE_MS = 60_000;

faultRow(
  {
    row: 'F8b',
    injected:
      'the network between one worker and Redis carries no packet for 60 s (no reset); another worker goes on (lease 3 s)',
    promised:
      'The other worker runs the jobs of the one that is cut off, and that one takes jobs again afterwards.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, history, redis, webhook } = world;
    const proxy = await tcpProxy(redis.port);
    const cut = await world.worker({ latency: SLOW_STEPS, redisUrl: operatorUrl(`127.0.0.1:${proxy.port}`) });
    const ids = await client.submitMany(4, () => ({ webhook, input: { steps: 200 } }));
    await client.reached(ids, 'running');
    const cutAt = history.fault('silence');
    proxy.silenceAll();
    const other = await world.worker({ latency: SLOW_STEPS });
    const load = startLoad(client, 2, 300, () => ({ webhook, input: { steps: 10 } }));
    for (const id of ids) await client.ended(id);
    const rescuedMs =
      Math.max(...history.ends.map(({ finished_at }) => Date.parse(finished_at ?? ''))) - cutAt;
    await delay(Math.max(0, cutAt + SILENCE_MS - Date.now()));
    // Only the worker that was cut off is left for the jobs that follow.
    other.signal('SIGTERM');
    await other.exited();
    await load.stop();
    const startedBefore = startsOf(cut.lines);
    const id = await client.submitUntilAccepted({ input: { steps: 4 } });
    const restoredAt = history.fault('the network works again');
    proxy.restore();
    const job = await client.ended(id);
    const verdict = await judge(world, { hasUnanswered: true });
    expectKept(verdict);
    if (startsOf(cut.lines) === startedBefore) throw new Error('the worker that was cut off started no job');
    return {
      seen: `${verdict.accepted} accepted jobs, 0 lost, ${verdict.repeatedAttempts} attempts repeated`,
      figures: {
        'jobs of the cut-off worker done after': seconds(rescuedMs),
        'it took a job after': seconds(Date.parse(job?.started_at ?? '') - restoredAt),
      },
    };
  },
);

const startsOf = (lines: readonly { readonly msg: string }[]): number =>
  lines.filter(({ msg }) => msg === 'job started').length;
