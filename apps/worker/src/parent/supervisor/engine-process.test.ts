import { expect, test } from 'vitest';
import type { SampleId, ToEngine } from '../../engine/protocol/messages.ts';
import { engineEnvironment, submitTogether } from './engine-process.ts';

test('The engine gets the variables of the system and its libraries, and none that may hold a secret', () => {
  const kept = {
    PATH: '/usr/bin',
    HOME: '/home/lehr',
    LD_LIBRARY_PATH: '/usr/local/cuda/lib64',
    CUDA_VISIBLE_DEVICES: '0',
    NVIDIA_VISIBLE_DEVICES: 'all',
    ORT_TENSORRT_ENGINE_CACHE_ENABLE: '1',
    OMP_NUM_THREADS: '2',
    TZ: 'UTC',
  };
  const withheld = {
    LEHR_API_KEY: 'x',
    LEHR_REDIS_URL: 'redis://redis',
    LEHR_HOME: '/var/lib/lehr',
    AWS_ACCESS_KEY_ID: 'x',
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: '/v2/credentials',
    AWS_WEB_IDENTITY_TOKEN_FILE: '/var/token',
    REDISCLI_AUTH: 'x',
    HF_TOKEN: 'x',
    NPM_PASSWORD: 'x',
    HTTPS_PROXY: 'http://user:hunter2@proxy:3128',
    DATABASE_URL: 'postgres://user:hunter2@db/lehr',
    NOT_SET: undefined,
  };
  expect(engineEnvironment({ ...kept, ...withheld })).toEqual(kept);
});

const submit = (id: string): ToEngine =>
  ({ type: 'submit', samples: [{ id: id as SampleId, task: 'text' }] }) as unknown as ToEngine;
const idsOf = (message: ToEngine): string[] =>
  message.type === 'submit' ? message.samples.map(({ id }) => id) : [message.type];
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test('Samples that are submitted in one turn of the event loop go as one message, in their order', async () => {
  const sent: string[][] = [];
  const send = submitTogether((message) => sent.push(idsOf(message)));
  send(submit('a'));
  await Promise.resolve();
  send(submit('b'));
  expect(sent).toEqual([]);
  await nextTurn();
  send(submit('c'));
  await nextTurn();
  expect(sent).toEqual([['a', 'b'], ['c']]);
});

test('A cancel is sent after the sample that it cancels, and before the samples that come later', async () => {
  const sent: string[][] = [];
  const send = submitTogether((message) => sent.push(idsOf(message)));
  send(submit('a'));
  send({ type: 'cancel', sample: 'a' as SampleId });
  send(submit('b'));
  await nextTurn();
  expect(sent).toEqual([['a'], ['cancel'], ['b']]);
});
