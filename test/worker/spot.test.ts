/** A worker that has to stop, by SIGINT or by a notice of EC2: a real process, and an HTTP server that plays the metadata service. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { workerWorld } from '../support/worker-world.ts';

let redis: TestRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const TOKEN = 'a-token-of-the-metadata-service';
const INTERRUPTION = '/latest/meta-data/spot/instance-action';
const REBALANCE = '/latest/meta-data/events/recommendations/rebalance';

/** IMDSv2: answers 401 without the token that it issued, and 404 while there is no notice. */
async function metadataService() {
  const notices = new Set<string>();
  const asked: string[] = [];
  const state = { isBroken: false };
  const server = createServer((request, response) => {
    const { method, url = '', headers } = request;
    asked.push(`${method} ${url}`);
    const respond = (status: number, body = ''): void => {
      response.writeHead(status).end(body);
    };
    if (state.isBroken) return respond(500);
    if (url === '/latest/api/token') {
      const isIssued = method === 'PUT' && headers['x-aws-ec2-metadata-token-ttl-seconds'] !== undefined;
      return isIssued ? respond(200, TOKEN) : respond(400);
    }
    if (headers['x-aws-ec2-metadata-token'] !== TOKEN) return respond(401);
    return notices.has(url) ? respond(200, '{"action":"terminate"}') : respond(404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, notices, asked, state };
}

test.each([
  ['interruption', INTERRUPTION],
  ['rebalance', REBALANCE],
])(
  'A worker drains at the EC2 notice %s, as on SIGTERM, and a SIGTERM after it does not cut the drain short',
  async (notice, path) => {
    const service = await metadataService();
    const world = await workerWorld(redis.url);
    const worker = await world.worker({ AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url, LEHR_DRAIN_S: '0' });
    const long = await world.draw({ steps: 500, n: 2, width: 512, height: 512 });
    await world.reached(long, 'running');
    expect(worker.lines.filter(({ msg }) => msg === 'draining')).toEqual([]);

    service.notices.add(path);

    expect(await worker.logged('EC2 takes this instance back; the worker drains')).toMatchObject({ notice });
    worker.signal('SIGTERM');
    await worker.logged('draining');
    const late = await world.draw({ seed: 2 });
    expect(await worker.exited()).toBe(0);
    expect(await world.records.read(long)).toMatchObject({ state: 'queued', attempt: 0 });
    expect(await world.records.read(late)).toMatchObject({ state: 'queued', attempt: 0 });
    expect(service.asked[0]).toBe('PUT /latest/api/token');
  },
);

test('A worker serves while the EC2 metadata service fails, and logs that once', {
  tags: ['long'],
}, async () => {
  const service = await metadataService();
  service.state.isBroken = true;
  const world = await workerWorld(redis.url);
  const worker = await world.worker({ AWS_EC2_METADATA_SERVICE_ENDPOINT: service.url });
  const failure = 'the EC2 metadata service cannot be read; retrying';
  await worker.logged(failure);
  expect(await world.reached(await world.draw())).toMatchObject({ state: 'succeeded' });
  await expect.poll(() => service.asked.length, SLOW_MACHINE).toBeGreaterThanOrEqual(3);
  expect(worker.lines.filter(({ msg }) => msg === failure)).toHaveLength(1);
  service.state.isBroken = false;
  service.notices.add(INTERRUPTION);
  expect(await worker.exited()).toBe(0);
});

test('On SIGINT a worker hands back what does not fit into its grace, without counting an attempt, and exits', async () => {
  const world = await workerWorld(redis.url);
  const worker = await world.worker({ LEHR_DRAIN_S: '0' });
  const long = await world.draw({ steps: 500, n: 2, width: 512, height: 512 });
  await world.reached(long, 'running');
  worker.signal('SIGINT');
  expect(await worker.exited()).toBe(0);
  expect(await world.records.read(long)).toMatchObject({ state: 'queued', attempt: 0 });
});
