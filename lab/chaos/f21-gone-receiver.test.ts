import { expect, vi } from 'vitest';
import { webhookReceiver } from '../../test/support/webhook-receiver.ts';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

const JOBS = 4;
const SETTLE = { timeout: 60_000, interval: 50 };

faultRow(
  {
    row: 'F21',
    injected: `a receiver answers 410 to the first of ${JOBS + 1} deliveries, and is back later; another one answers 500 once`,
    promised:
      'A receiver that answers 410 gets no more deliveries until its owner asks for redelivery; one failure closes nothing.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, receiver } = world;
    const gone = await webhookReceiver();
    gone.answer(410);
    receiver.answer(500);
    await world.worker({ latency: QUICK_STEPS });
    const [first] = await client.submitMany(1, () => ({ webhook: { url: gone.url } }));
    const stateOf = async (id: string): Promise<string> => {
      const response = await client.ask('GET', `/v1/jobs/${id}/webhook`);
      const { deliveries } = (await response.json()) as { deliveries: { state: string }[] };
      return deliveries[0]?.state ?? 'none';
    };
    await vi.waitFor(async () => expect(await stateOf(first)).toBe('gone'), SETTLE);
    const later = await client.submitMany(JOBS, () => ({ webhook: { url: gone.url } }));
    const other = await client.submitMany(2, () => ({ webhook: { url: receiver.url } }));
    for (const id of later) await vi.waitFor(async () => expect(await stateOf(id)).toBe('gone'), SETTLE);
    const sent = gone.received.length;
    expect(sent).toBe(1);
    for (const id of [first, ...later]) {
      expect((await client.ask('POST', `/v1/jobs/${id}/webhook/redeliver`)).status).toBe(202);
    }
    const verdict = await judge(world, { receivers: [receiver, gone] });
    expectKept(verdict);
    return {
      seen: `${JOBS} later deliveries were dropped without an attempt; after redelivery all ${JOBS + 1} arrived; both of the other receiver arrived (${other.length})`,
      figures: { 'attempts while closed': sent - 1 },
    };
  },
);
