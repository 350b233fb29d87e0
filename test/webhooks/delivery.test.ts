import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { verified, webhookReceiver } from '../support/webhook-receiver.ts';
import { webhookWorld } from '../support/webhook-world.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('Every event that a job asks for is delivered once, with a signature that the common verifiers accept', async () => {
  const world = await webhookWorld(server.url);
  const receiver = await webhookReceiver();
  await world.deliverer();
  const id = await world.hooked(receiver.url);
  await world.run(id);
  const received = await receiver.until(3);
  const secret = await world.signing();
  for (const each of received) {
    expect(await verified(each, secret)).toBe(true);
    expect(each.id).toMatch(/^msg_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(each.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'lehr/1' });
    expect(each.headers).not.toHaveProperty('authorization');
    expect(Math.abs(each.timestamp - Date.now() / 1000)).toBeLessThan(5);
  }
  const bodies = received.map(({ body }) => JSON.parse(body));
  expect(bodies).toEqual(
    expect.arrayContaining([
      { type: 'job.queued', data: { id, status: 'queued' } },
      { type: 'job.started', data: { id, status: 'running' } },
      { type: 'job.failed', data: { id, status: 'failed' } },
    ]),
  );
  expect(new Set(received.map((each) => each.id)).size).toBe(3);
});
