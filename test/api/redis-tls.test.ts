import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../../packages/shared/src/redis/index.ts';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { startRedis } from '../support/redis-server.ts';

/** The certificate and its key, as files. Self-signed, so it is its own authority. */
async function certificate(): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-tls-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await Promise.all([writeFile(files.cert, pems.cert), writeFile(files.key, pems.private)]);
  return files;
}

test('The API uses a Redis over TLS as a user with a password, and refuses a server with an unknown certificate', async () => {
  const { cert, key } = await certificate();
  const port = await freePort();
  const tls = ['--tls-port', `${port}`, '--tls-cert-file', cert, '--tls-key-file', key];
  const redis = await startRedis([...tls, '--tls-auth-clients', 'no']);
  onTestFinished(() => redis.stop());
  const admin = openRedis(redis.url, 'worker', 'admin');
  onTestFinished(() => admin.disconnect());
  await admin.call('ACL', 'SETUSER', 'fleet', 'on', '>p@ss:word', '~*', '&*', '+@all');
  await admin.call('ACL', 'SETUSER', 'default', 'off');
  const url = `rediss://fleet:${encodeURIComponent('p@ss:word')}@localhost:${port}`;
  const env = await installation(url);

  const api = startLehr('api', { ...env, NODE_EXTRA_CA_CERTS: cert });
  const { url: base } = await api.logged('API is listening');
  expect((await fetch(`${base}/readyz`)).status).toBe(200);

  const distrustful = startLehr('api', env);
  expect(await distrustful.exited()).toBe(69);
  const printed = JSON.stringify(distrustful.lines);
  expect(printed).toContain(`Redis does not answer at localhost:${port}`);
  expect(printed).not.toContain('p@ss');
});
