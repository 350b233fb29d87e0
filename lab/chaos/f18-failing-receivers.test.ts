import { expect } from 'vitest';
import { webhookReceiver } from '../../test/support/webhook-receiver.ts';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow, seconds } from './fault-row.ts';
import { judge } from './invariants.ts';

/** More than the five seconds of the schedule, so that the difference shows. */
const RETRY_AFTER_S = 9;

faultRow(
  {
    row: 'F18',
    injected: `one receiver answers 500, one 429 with Retry-After: ${RETRY_AFTER_S}, each once; a third one is healthy`,
    promised:
      'A failed delivery is sent again with the same id, not before the time that the receiver asks for, and does not delay deliveries to others.',
  },
  async () => {
    const world = await chaosWorld();
    const failing = await webhookReceiver();
    const busy = await webhookReceiver();
    failing.answer(500);
    busy.answer({ status: 429, headers: { 'retry-after': `${RETRY_AFTER_S}` } });
    const { client, receiver } = world;
    await world.worker({ latency: QUICK_STEPS });
    const urls = [failing.url, busy.url, ...Array<string>(6).fill(receiver.url)];
    await client.submitMany(urls.length, (i) => ({ webhook: { url: urls[i] } }));
    await receiver.until(6, 120_000);
    const [firstFailed, secondFailed] = await failing.until(2, 120_000);
    const [firstBusy, secondBusy] = await busy.until(2, 120_000);
    const gapMs = secondFailed.at - firstFailed.at;
    const askedMs = secondBusy.at - firstBusy.at;
    expect(secondFailed.id).toBe(firstFailed.id);
    expect(secondBusy.id).toBe(firstBusy.id);
    expect(askedMs).toBeGreaterThanOrEqual(RETRY_AFTER_S * 1000 - 100);
    const verdict = await judge(world, { receivers: [receiver, failing, busy] });
    expectKept(verdict);
    return {
      seen: `both failed deliveries arrived in their second attempt with the same id; the 6 to the healthy receiver in their first`,
      figures: { 'after 500': seconds(gapMs), 'after 429': seconds(askedMs) },
    };
  },
);
