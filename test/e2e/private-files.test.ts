/** What other users of the machine, and the engine process, cannot read. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { startRadosgw } from '../support/radosgw.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('Files of secrets, uploads and outputs can be read by their own user only', {
  tags: ['long'],
}, async () => {
  // The processes inherit it: without one of their own, all users could read what they create.
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
  const home = join(await tempFolder('home'), 'data');
  const stack = await startStack(server, { LEHR_HOME: home });
  await stack.worker();
  await stack.upload('a.wav', Buffer.alloc(1000));
  expect((await stack.over((await stack.post({ steps: 2 })).id)).status).toBe('succeeded');
  const paths = [home, ...(await readdir(home, { recursive: true })).map((path) => join(home, path))];
  expect(paths.length).toBeGreaterThan(8);
  for (const path of paths) expect((await stat(path)).mode & 0o077, path).toBe(0);
});

test('The engine process has no variable with a secret, and no variable of Lehr', {
  tags: ['long'],
}, async () => {
  const secrets = { AWS_ACCESS_KEY_ID: 'an-id', AWS_SECRET_ACCESS_KEY: 'hunter2', HF_TOKEN: 'hunter3' };
  const stack = await startStack(server, secrets);
  const worker = await stack.worker();
  const children = await readFile(`/proc/${worker.pid}/task/${worker.pid}/children`, 'utf8');
  const environments = await Promise.all(
    children
      .trim()
      .split(' ')
      .map(async (pid) => (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')),
  );
  expect(environments.length).toBeGreaterThan(0);
  for (const variables of environments) {
    const names = variables.map((each) => each.split('=')[0]);
    expect(names).toContain('PATH');
    expect(names.filter((name) => name.startsWith('LEHR_') || name in secrets)).toEqual([]);
    expect(variables.join()).not.toContain(stack.key);
  }
});

test('With configured secrets and an S3 store, API and worker need no folder that they can write to', {
  tags: ['long'],
}, async () => {
  const s3 = await startRadosgw();
  onTestFinished(() => s3.stop());
  await s3.createBucket('lehr');
  const env = await installation(server.url, {
    // Not even root can create it: as in a container whose image is read-only.
    LEHR_HOME: '/proc/lehr',
    LEHR_MODELS: await tinyModels(),
    LEHR_API_KEY: 'lehr_test_root_key_of_the_operator',
    LEHR_KEY_PEPPER: 'a pepper of thirty-two characters or more',
    LEHR_SECRET_KEY: 'a secret key of thirty-two characters or more',
    LEHR_STORE_SECRET: 'a store secret of thirty-two characters or more',
    LEHR_S3_BUCKET: 'lehr',
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    LEHR_WORKER_PORT: '0',
    LEHR_DEVICE: 'cpu',
    LEHR_ROW_CAP: '16',
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  });
  const [api, worker] = [startLehr('api', env), startLehr('worker', env)];
  await Promise.all([api.logged('API is listening'), worker.logged('worker serves')]);
  expect([...api.lines, ...worker.lines].filter(({ level }) => level === 'error')).toEqual([]);
});
