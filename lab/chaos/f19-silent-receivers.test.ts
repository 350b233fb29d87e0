import { expect } from 'vitest';
import { webhookReceiver } from '../../test/support/webhook-receiver.ts';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

const JOBS_EACH = 8;
/** A receiver that has not answered completely by then has failed. */
const LIMIT_MS = 15_000;

faultRow(
  {
    row: 'F19',
    injected: `one receiver never answers and one sends a byte at a time, ${JOBS_EACH} deliveries each; both recover`,
    promised:
      'A delivery without a complete answer after 15 s has failed and is retried; others are not delayed by it.',
  },
  async () => {
    const world = await chaosWorld();
    const hanging = await webhookReceiver('hang');
    const dripping = await webhookReceiver('drip');
    const { client, receiver } = world;
    await world.worker({ latency: QUICK_STEPS });
    const silent = [hanging.url, dripping.url].flatMap((url) => Array<string>(JOBS_EACH).fill(url));
    await client.submitMany(silent.length, (i) => ({ webhook: { url: silent[i] } }));
    await Promise.all([hanging.until(1, 60_000), dripping.until(1, 60_000)]);
    const healthy = await client.submitMany(JOBS_EACH, () => ({ webhook: { url: receiver.url } }));
    const from = performance.now();
    await client.reached(healthy, 'succeeded');
    const delivered = await receiver.until(JOBS_EACH, 60_000);
    const othersMs = (delivered.at(-1)?.at ?? Number.NaN) - from;
    // The recovery comes after the first attempts: they are still held or have failed.
    expect(hanging.received.length).toBeLessThanOrEqual(JOBS_EACH);
    const sockets = hanging.open + dripping.open;
    expect(sockets).toBeLessThanOrEqual(2 * JOBS_EACH);
    const [first] = hanging.received;
    hanging.otherwise(204);
    dripping.otherwise(204);
    const verdict = await judge(world, { receivers: [receiver, hanging, dripping] });
    expectKept(verdict);
    const again = hanging.received.find(({ id, at }) => id === first.id && at > first.at);
    expect(again, 'the first delivery was attempted again').toBeDefined();
    const retriedMs = (again?.at ?? 0) - first.at;
    expect(retriedMs).toBeGreaterThanOrEqual(LIMIT_MS - 100);
    return {
      seen: `all ${verdict.accepted} ends were delivered; those to the healthy receiver while the others hung`,
      figures: {
        'healthy receiver, last of 8': seconds(othersMs),
        'retried after': seconds(retriedMs),
        'connections held': sockets,
      },
    };
  },
);
