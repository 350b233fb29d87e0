import { expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../../packages/shared/src/redis/index.ts';
import { certificate } from '../support/certificate.ts';
import { installation } from '../support/installation.ts';
import { startLehr } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { startRedis } from '../support/redis-server.ts';

test('The API uses a Redis over TLS as a user with a password, and refuses a server with an unknown certificate', {
  tags: ['long'],
}, async () => {
  const { cert, key } = await certificate();
  const port = await freePort();
  const tls = ['--tls-port', `${port}`, '--tls-cert-file', cert, '--tls-key-file', key];
  const redis = await startRedis([...tls, '--tls-auth-clients', 'no']);
  onTestFinished(() => redis.stop());
  const admin = openRedis(redis.url, 'worker', 'admin');
  onTestFinished(() => admin.disconnect());
  await admin.call('ACL', 'SETUSER', 'fleet', 'on', '>p@ss:word', '~*', '&*', '+@all');
  const url = `rediss://fleet:${encodeURIComponent('p@ss:word')}@localhost:${port}`;
  const env = await installation(url);

  const api = startLehr('api', { ...env, NODE_EXTRA_CA_CERTS: cert });
  const { url: base } = await api.logged('API is listening');
  expect((await fetch(`${base}/readyz`)).status).toBe(200);

  const distrustful = startLehr('api', env);
  expect(await distrustful.exited()).not.toBe(0);
  const printed = JSON.stringify(distrustful.lines);
  expect(printed).not.toContain('API is listening');
  expect(printed).not.toContain('p@ss');
});
