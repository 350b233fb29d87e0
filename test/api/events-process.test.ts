/** Event streams of real API processes that are killed or stopped. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { API_KEY, apiWorld } from '../support/api-world.ts';
import { readEvents, type StreamedEvent } from '../support/event-stream.ts';
import { type LehrProcess, startLehr } from '../support/lehr-process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

interface ApiProcess {
  readonly api: LehrProcess;
  follow(path: string, after: number): Promise<Response>;
}

/** One installation, any number of API processes, and a worker that the test controls. */
async function installation() {
  const world = await apiWorld(server.url);
  const home = await mkdtemp(join(tmpdir(), 'lehr-home-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const models = join(home, 'models.yaml');
  await writeFile(
    models,
    'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: tiny }] }]',
  );
  const start = async (): Promise<ApiProcess> => {
    const api = startLehr('api', {
      LEHR_HOME: home,
      LEHR_MODELS: models,
      LEHR_REDIS_URL: server.url,
      LEHR_NAMESPACE: world.parts.keys.prefix.slice(1, -1),
      LEHR_PORT: '0',
      LEHR_API_KEY: API_KEY,
    });
    const { url } = await api.logged('API is listening');
    const follow = (path: string, after: number) =>
      fetch(`${url}${path}`, {
        headers: {
          'last-event-id': `${after}`,
          ...(path.startsWith('/v1/') && { authorization: `Bearer ${API_KEY}` }),
        },
      });
    return { api, follow };
  };
  return { world, start };
}

test('A client of a killed API process continues at another, by key or by link, without missing an event', async () => {
  const { world, start } = await installation();
  const [first, second] = await Promise.all([start(), start()]);
  const { id } = await world.post();
  const claim = await world.worker.take();
  // The link comes from the process, because the test does not have its signing secret.
  const read = await first.follow(`/v1/jobs/${id}`, 0);
  const { links } = (await read.json()) as { links: { events: string; events_signed: string } };
  const paths = [links.events, links.events_signed].map((link) => link.replace(/^https?:\/\/[^/]+/, ''));

  const clients = await Promise.all(
    paths.map(async (path) => {
      const events = readEvents(await first.follow(path, 0));
      const seen: StreamedEvent[] = [];
      const take = async (count: number) => {
        for (let i = 0; i < count; i++) {
          const { value } = await events.next();
          if (value) seen.push(value);
        }
      };
      await take(2);
      return { path, events, seen, take };
    }),
  );
  await world.worker.progress(claim, 1);
  await Promise.all(clients.map(({ take }) => take(1)));

  first.api.signal('SIGKILL');
  for (const { events } of clients) await expect(events.next()).rejects.toThrow();
  await world.worker.progress(claim, 2);
  await world.worker.progress(claim, 3);
  await world.worker.succeed(claim);

  for (const { path, seen } of clients) {
    for await (const event of readEvents(await second.follow(path, Number(seen.at(-1)?.id))))
      seen.push(event);
    expect(seen.map((event) => event.id)).toEqual(['1', '2', '3', '4', '5', '6']);
    expect(seen.filter(({ event }) => event === 'job.succeeded')).toHaveLength(1);
    expect((await second.follow(path, 6)).status).toBe(204);
  }
});

test('An API process that gets SIGTERM ends its streams and exits with 0', async () => {
  const { world, start } = await installation();
  const { api, follow } = await start();
  const { id } = await world.post();
  const events = readEvents(await follow(`/v1/jobs/${id}/events`, 0));
  expect(await events.next()).toMatchObject({ value: { event: 'job.queued' } });
  api.signal('SIGTERM');
  expect(await events.next()).toMatchObject({ done: true });
  expect(await api.exited()).toBe(0);
});
