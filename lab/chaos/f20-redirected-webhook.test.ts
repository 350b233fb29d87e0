import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { chaosWorld, QUICK_STEPS } from './chaos-world.ts';
import { expectKept, faultRow } from './fault-row.ts';
import { judge } from './invariants.ts';

/** A server on this machine that no webhook may reach. Returns its URL and how many connections it got. */
async function privateServer(): Promise<{ url: string; connections: () => number }> {
  let count = 0;
  const server = createServer((_, response) => void response.end('secret'));
  server.on('connection', () => {
    count += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/latest/meta-data/`,
    connections: () => count,
  };
}

faultRow(
  {
    row: 'F20',
    injected:
      'the receiver redirects with 302 and 307 to an address of the metadata service and to a private server',
    promised: 'A redirect is a failed attempt and is not followed.',
  },
  async () => {
    const world = await chaosWorld();
    const { client, receiver, webhook } = world;
    const trap = await privateServer();
    const metadata = 'http://169.254.169.254/latest/meta-data/';
    for (const status of [302, 307]) {
      for (const location of [trap.url, metadata]) receiver.answer({ status, headers: { location } });
    }
    await world.worker({ latency: QUICK_STEPS });
    await client.submitMany(4, () => ({ webhook }));
    const verdict = await judge(world);
    expectKept(verdict);
    expect(trap.connections()).toBe(0);
    return {
      seen: 'four redirected attempts failed, and their retries were delivered',
      figures: { 'connections to the private server': trap.connections() },
    };
  },
);
