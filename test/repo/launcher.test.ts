/** What npm start does and refuses, in a copy of the repository that has its modules and its build already. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Job, parseRegistry } from '../../packages/shared/src/index.ts';
import { freePort, UNREACHABLE_URL } from '../support/ports.ts';
import { type Clone, makePreparedClone } from './clone.ts';
import { installation } from './launched.ts';

let clone: Clone;
beforeAll(() => {
  clone = makePreparedClone();
});
afterAll(() => clone?.remove());

test('With --workers 0 no worker runs, and a receiver on this machine needs no setting', async () => {
  const { home, url, start } = await installation(clone.path, '.lehr-none');
  const lehr = start({}, '--workers', '0');
  await lehr.ready();
  expect(lehr.output).toContain('workers  none here');
  expect(lehr.descendants().filter(({ command }) => command.includes('worker/dist'))).toEqual([]);
  const heard = new Promise<string>((resolve) => {
    const receiver = createServer((socket) => {
      socket.once('data', (bytes) => {
        socket.end('HTTP/1.1 204 No Content\r\n\r\n');
        resolve(bytes.toString());
      });
    });
    receiver.listen(0, '127.0.0.1', async () => {
      const key = readFileSync(join(home, 'api-key'), 'utf8').trim();
      const { port } = receiver.address() as AddressInfo;
      const hook = { url: `http://127.0.0.1:${port}/hook` };
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ type: 'text-to-image', input: { prompt: 'x' }, webhook: hook });
      const { id } = (await (await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body })).json()) as Job;
      await fetch(`${url}/v1/jobs/${id}/cancel`, { method: 'POST', headers });
    });
    onTestFinished(() => void receiver.close());
  });
  expect(await heard).toContain('POST /hook');
  expect(await lehr.terminate()).toBe(0);
  expect(lehr.marked()).toEqual([]);
});

test.each(['LEHR_PORT', 'LEHR_WORKER_PORT', 'LEHR_OPERATIONS_PORT'])(
  'A port in use is reported with the variable that sets it: %s',
  async (name) => {
    const { env, start } = await installation(clone.path, '.lehr-taken');
    const port = env[name] ?? `${await freePort()}`;
    const occupant = createServer().listen(Number(port), '127.0.0.1');
    onTestFinished(() => void occupant.close());
    const lehr = start({ [name]: port });
    expect(await lehr.exit).toBe(1);
    expect(lehr.output).toContain(`Port ${port} on 127.0.0.1 is taken`);
    expect(lehr.output).toMatch(new RegExp(`${name}=\\d+ npm start`));
    expect(lehr.output).not.toMatch(/^ +at /m);
    expect(lehr.marked()).toEqual([]);
  },
);

test('An invalid variable is reported before anything starts', async () => {
  const { home, start } = await installation(clone.path, '.lehr-senseless');
  const lehr = start({ LEHR_PORT: 'http', LEHR_API_KEY: 'short' });
  expect(await lehr.exit).toBe(1);
  expect(lehr.output).toMatch(/LEHR_PORT is "http"/);
  expect(lehr.output).toMatch(/LEHR_API_KEY was refused: must have at least 20 characters/);
  expect(existsSync(home)).toBe(false);
});

test('npm start refuses an option that it does not have, and names those that it has', async () => {
  const { start } = await installation(clone.path, '.lehr-option');
  const lehr = start({}, '--obsreve');
  expect(await lehr.exit).toBe(1);
  expect(lehr.output).toContain("Unknown option '--obsreve'");
  expect(lehr.output).toContain('npm start -- --observe');
  const many = start({}, '--workers', 'many');
  expect(await many.exit).toBe(1);
  expect(many.output).toContain('--workers is "many", expected auto or a number');
});

test('An address that other machines can reach is refused without a configured key', {
  tags: ['long'],
}, async () => {
  const { start } = await installation(clone.path, '.lehr-open');
  const lehr = start({ LEHR_HOST: '0.0.0.0' });
  expect(await lehr.exit).toBe(1);
  expect(lehr.output).toContain('LEHR_HOST is "0.0.0.0", which others can reach: set LEHR_API_KEY');
  expect(lehr.output).toContain('stopping everything');
  expect(lehr.marked()).toEqual([]);
});

test('The error for a Redis that does not answer names its address and not its password', async () => {
  const { start } = await installation(clone.path, '.lehr-elsewhere');
  const { host } = new URL(UNREACHABLE_URL);
  const lehr = start({ LEHR_REDIS_URL: `redis://:hush@${host}` });
  expect(await lehr.exit).toBe(1);
  expect(lehr.output).toContain(`LEHR_REDIS_URL: nothing answers at ${host}`);
  expect(lehr.output).not.toContain('hush');
  expect(lehr.marked()).toEqual([]);
});

test('The demo models are offered, or an untrained model in a copy without their weights', async () => {
  const { defaultModels } = (await import(join(clone.path, 'infra/local/models.mjs'))) as {
    defaultModels(where: { home: string; say(text: string): void }): Promise<string>;
  };
  const shipped = join(clone.path, 'packages/demo-models/models/models.yaml');
  const home = join(clone.path, '.lehr-models');
  const messages: string[] = [];
  const say = (text: string): void => void messages.push(text);

  rmSync(shipped, { force: true });
  const standIn = await defaultModels({ home, say });
  expect(standIn).toBe(join(home, 'tiny-models/models.yaml'));
  expect(messages).toEqual([expect.stringContaining('it uses an untrained one')]);
  const { model } = parseRegistry(readFileSync(standIn, 'utf8')).resolve('diffusion', undefined, 0);
  expect(existsSync(join(home, 'tiny-models', model.versions[0].path ?? '', 'unet/model.onnx'))).toBe(true);

  writeFileSync(shipped, readFileSync(standIn));
  expect(await defaultModels({ home, say })).toBe(shipped);
  expect(messages).toHaveLength(1);

  // `lehr models pull` writes it.
  writeFileSync(join(home, 'models.yaml'), readFileSync(standIn));
  expect(await defaultModels({ home, say })).toBe(join(home, 'models.yaml'));
});
