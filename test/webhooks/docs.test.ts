/** The receivers and commands of docs/webhooks.md run as they are written. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { SYSTEM_ACTOR } from '../../apps/api/src/access/audit/audit-log.ts';
import { nativeRenderer } from '../../apps/api/src/dialects/native/native-renderer.ts';
import { listen } from '../../apps/api/src/http/listen.ts';
import { openWebhooks } from '../../apps/api/src/webhooks/parts.ts';
import { METRICS, WEBHOOK_EVENTS } from '../../packages/shared/src/index.ts';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { API_KEY, type ApiWorld, apiWorld } from '../support/api-world.ts';
import { bundle } from '../support/bundle.ts';
import { type LehrProcess, startCommand, startProgram } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { freshKeys, startRedis, type TestRedis, testRedis } from '../support/redis.ts';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { webhookReceiver } from '../support/webhook-receiver.ts';
import { startDeliverer, webhookOptions } from '../support/webhook-world.ts';

const TEXT = readText('docs/webhooks.md');
const BLOCKS = blocksOf(TEXT);
const blockOf = (language: string, label: string): string => {
  const [block, another] = BLOCKS.filter((each) => each.language === language && each.label === label);
  if (!block || another) throw new Error(`docs/webhooks.md needs exactly one block "${language} ${label}"`);
  return block.text;
};

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function apiWithWebhooks(): Promise<{ world: ApiWorld; url: string }> {
  const keys = freshKeys();
  const webhooks = openWebhooks(testRedis(server.url, 'api'), webhookOptions(keys));
  const world = await apiWorld(server.url, { keys, webhooks });
  await startDeliverer(server.url, world.parts, {
    renderers: { native: nativeRenderer(world.parts.presenter) },
  });
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  return { world, url: `http://127.0.0.1:${listener.port}` };
}

/** Runs a shell block as it is written and returns the JSON that it prints. */
async function run(label: string, env: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
  const options = { env: { PATH: process.env.PATH, LEHR_API_KEY: API_KEY, ...env } };
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', blockOf('sh', label)], options);
  return JSON.parse(stdout);
}

test('The commands of docs/webhooks.md work in their order', async () => {
  const { world, url: LEHR_URL } = await apiWithWebhooks();
  const receiver = await webhookReceiver();
  const HOOK_URL = receiver.url;
  const { key } = await run('secret', { LEHR_URL });
  expect(key).toMatch(/^whsec_/);
  const job = await run('ask', { LEHR_URL, HOOK_URL });
  const ID = String(job.id);
  await world.worker.succeed(await world.worker.take());
  const [{ id, body }] = await receiver.until(1);
  expect(await run('test', { LEHR_URL, HOOK_URL })).toMatchObject({ delivered: true, status: 204 });
  await vi.waitFor(
    async () =>
      expect(await run('log', { LEHR_URL, ID })).toMatchObject({ deliveries: [{ state: 'delivered' }] }),
    SLOW_MACHINE,
  );
  expect(await run('again', { LEHR_URL, ID })).toMatchObject({ webhook_id: id });
  const again = (await receiver.until(3))[2];
  expect([again.id, again.body]).toEqual([id, body]);
  expect((await run('rotate', { LEHR_URL })).key).not.toBe(key);
  expect(await run('secrets', { LEHR_URL })).toMatchObject({ data: [{ expires_at: null }, {}] });
  const labels = BLOCKS.filter(({ language }) => language === 'sh').map((block) => block.label);
  expect(labels).toEqual(['secret', 'ask', 'test', 'log', 'again', 'rotate', 'secrets']);
});

/** Starts the receiver of the page as a program. */
type Receiver = (secret: string, port: number) => Promise<LehrProcess>;

const hasPython = (() => {
  try {
    execFileSync('python3', ['-c', 'assert __import__("sys").version_info >= (3, 9)'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Writes a file inside the repository, where Node finds its packages. Removes it after the test. */
function written(name: string, text: string): string {
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'lehr-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const inTypeScript: Receiver = async (secret, port) => {
  const program = await bundle(written('receiver.ts', blockOf('ts', 'receiver')), import.meta.url);
  return startProgram(program, { WEBHOOK_SECRET: secret, PORT: String(port) });
};

const inPython: Receiver = async (secret, port) => {
  const file = written('receiver.py', blockOf('python', 'receiver'));
  return startCommand('python3', [file], { WEBHOOK_SECRET: secret, PORT: String(port) });
};

async function checkReceiver(receiver: Receiver): Promise<void> {
  const { world } = await apiWithWebhooks();
  const { key } = await world.parts.webhooks.secrets.show('default' as never, SYSTEM_ACTOR);
  const port = await freePort();
  const program = await receiver(key, port);
  const url = `http://127.0.0.1:${port}/`;
  const testDelivery = async () => (await world.ask('POST', '/v1/webhooks/test', { url })).json();
  await vi.waitFor(async () => expect(await testDelivery()).toMatchObject({ delivered: true }), SLOW_MACHINE);
  const job = await world.post({}, { webhook: { url } });
  await world.worker.succeed(await world.worker.take());
  await program.line(({ msg }) => msg === `job.succeeded ${job.id}`);
  // After a rotation, the old secret is still valid.
  await world.parts.webhooks.secrets.rotate('default' as never, SYSTEM_ACTOR);
  expect(await testDelivery()).toMatchObject({ delivered: true });
  const logged = (attempts: object[]) =>
    vi.waitFor(async () => {
      const log = await (await world.ask('GET', `/v1/jobs/${job.id}/webhook`)).json();
      expect(log).toMatchObject({ deliveries: [{ state: 'delivered' }], attempts });
    }, SLOW_MACHINE);
  await logged([{ status: 204 }]);
  await world.ask('POST', `/v1/jobs/${job.id}/webhook/redeliver`);
  await logged([{ status: 204 }, { status: 204 }]);
  expect(program.lines.filter(({ msg }) => msg.startsWith('job.'))).toHaveLength(1);
  const forged = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,x' };
  for (const headers of [forged, {}]) {
    expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(401);
  }
  await program.stop();
}

test('The receiver in TypeScript accepts signed deliveries once and refuses forged ones', () =>
  checkReceiver(inTypeScript));
test.skipIf(!hasPython)('The receiver in Python accepts signed deliveries once and refuses forged ones', () =>
  checkReceiver(inPython),
);

test('docs/webhooks.md names every event and every metric of webhooks', () => {
  for (const event of WEBHOOK_EVENTS) expect(TEXT).toContain(`\`${event}\``);
  for (const { name } of Object.values(METRICS)) {
    if (name.startsWith('lehr_webhook')) expect(TEXT).toContain(name);
  }
});
