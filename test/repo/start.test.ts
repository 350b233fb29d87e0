/**
 * npm start from a fresh copy of the repository, as a stranger has it: modules are really installed and built, once, and
 * each test then runs a separate installation (folder and ports) from that copy.
 */
import { execFile } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { Job } from '../../packages/shared/src/index.ts';
import { type Clone, makeClone } from './clone.ts';
import { installation, isAlive, type Launched } from './launched.ts';
import { shellBlock } from './readme.ts';

let clone: Clone;
beforeAll(() => {
  clone = makeClone();
});
afterAll(() => clone?.remove());

test('A fresh clone installs itself, starts, and the lines of the README draw a picture and read texts', {
  tags: ['long'],
}, async () => {
  expect(shellBlock('start')).toMatch(/^git clone .*\ncd .*\nnpm start\n$/);
  const { home, url, start } = await installation(clone.path, '.lehr');
  const lehr = start();
  await lehr.ready();
  expect(lehr.output).toContain('Installing modules (npm ci)');
  expect(lehr.output).toMatch(/Self-check: \S+ drew \d+x\d+ in [\d.]+ s/);
  expect(pngSize(join(home, 'first-picture.png')).width).toBeGreaterThan(0);
  const keyFile = join(home, 'api-key');
  expect(lehr.output).toContain(`${readFileSync(keyFile, 'utf8').trim()}  (shown this once`);
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);

  const run = async (block: string): Promise<string> => {
    const lines = block.replaceAll('http://127.0.0.1:8080', url);
    return (await promisify(execFile)('sh', ['-eu', '-c', lines], { cwd: clone.path })).stdout;
  };
  const id = (await run(shellBlock('picture'))).trim();
  const job = JSON.parse(readFileSync(join(clone.path, 'job.json'), 'utf8')) as Job;
  expect(job).toMatchObject({ id, status: 'succeeded' });
  const { width, height } = job.input;
  expect(pngSize(join(clone.path, 'picture.png'))).toEqual({ width, height });

  const [embedding, ...rest] = (await run(shellBlock('texts'))).trim().split('\n');
  expect(JSON.parse(embedding)).toHaveLength(4);
  expect(rest.join('\n')).toMatch(/^one object .* a red circle\nseveral objects .* two stars above/m);
  expect(JSON.parse(rest.at(-1) ?? '')).toHaveLength(5);
  await endsCleanly(lehr, () => lehr.terminate());
});

test('A crashed API, worker and Redis come back with all jobs, and Ctrl-C leaves no process', {
  tags: ['long'],
}, async () => {
  const { home, url, start } = await installation(clone.path, '.lehr-crash');
  const lehr = start();
  await lehr.ready();
  const key = readFileSync(join(home, 'api-key'), 'utf8').trim();

  const { id } = await drawn(url, key);

  for (const [name, program, sign] of [
    ['Redis', 'redis-server', undefined],
    ['api', 'apps/api/dist/main.js', 'API is listening'],
    ['worker', 'apps/worker/dist/main.js', 'worker serves'],
  ] as const) {
    const before = lehr.descendants().find(({ command }) => command.includes(program))!;
    process.kill(before.pid, 'SIGKILL');
    await lehr.prints(new RegExp(`${name} ended: killed by SIGKILL`));
    if (sign) await lehr.logs(sign, 2);
    expect(isAlive(before)).toBe(false);
  }
  expect(await get(`${url}/v1/jobs/${id}`, key)).toMatchObject({ id, status: 'succeeded' });
  expect((await drawn(url, key)).status).toBe('succeeded');
  // The engine of the killed worker went with it.
  expect(lehr.marked().filter(({ command }) => command.includes('engine/process.js'))).toHaveLength(1);
  await endsCleanly(lehr, () => lehr.interrupt());

  const env = { ...process.env, LEHR_HOME: home };
  const logs = await promisify(execFile)('npx', ['lehr', 'logs', id], { cwd: clone.path, env });
  expect(logs.stdout).toMatch(/worker +info +job started .*\n.*job succeeded/);
});

test('A later start names the file of the key and a card, can have a port for operations and a Prometheus, and checks nothing again', {
  tags: ['long'],
}, async () => {
  const { home, url, start } = await installation(clone.path, '.lehr-later');
  const first = start();
  await first.ready();
  await endsCleanly(first, () => first.terminate());

  const key = readFileSync(join(home, 'api-key'), 'utf8').trim();
  const card = join(home, 'nvidia-smi');
  writeFileSync(card, '#!/bin/sh\necho "NVIDIA L4, 580.95.05"\n', { mode: 0o755 });
  const path = `${home}:${process.env.PATH}`;
  const second = start({ LEHR_OPERATIONS_PORT: '0', PATH: path }, '--observe');
  await second.ready();
  expect(second.output).toContain('NVIDIA L4 is not used yet. LEHR_DEVICE=cuda npm start');
  const [, operations] = /metrics +(http:\S+)\/metrics/.exec(second.output) ?? [];
  expect(operations).not.toBe(url);
  expect((await fetch(`${operations}/readyz`)).status).toBe(200);
  expect((await fetch(`${url}/readyz`)).status).toBe(404);
  expect(second.output).toContain('.lehr-later/api-key');
  expect(second.output).not.toContain(key);
  expect(second.output).not.toContain('Self-check');
  expect(second.output).not.toContain('Installing');
  expect(second.output).toContain(`charts   ${url}/studio/charts`);
  expect(await get(`${url}/v1/charts`, key)).toMatchObject({ source: 'prometheus' });
  const [, prometheus] = /Prometheus at (http:\S+) /.exec(second.output) ?? [];
  await vi.waitFor(async () => {
    const answer = await fetch(`${prometheus}/api/v1/query?query=up`);
    const { data } = (await answer.json()) as {
      data: { result: { metric: { job: string }; value: [number, string] }[] };
    };
    const up = data.result.map(({ metric, value }) => `${metric.job} ${value[1]}`);
    expect(up.sort()).toEqual(['lehr-api 1', 'lehr-worker 1']);
  }, 60_000);
  await endsCleanly(second, () => second.terminate());
});

test('With --workers auto the first picture starts the first worker, and nothing is left at the end', {
  tags: ['long'],
}, async () => {
  const { home, url, start } = await installation(clone.path, '.lehr-auto');
  const lehr = start({}, '--workers', 'auto');
  await lehr.ready();
  expect(lehr.output).toMatch(/Self-check: \S+ drew \d+x\d+ in [\d.]+ s/);
  await lehr.logs('fleet has a worker', 1);
  const key = readFileSync(join(home, 'api-key'), 'utf8').trim();
  expect((await drawn(url, key)).status).toBe('succeeded');
  // The answer may be from before the worker's first report: it is some seconds old at most.
  await vi.waitFor(
    async () =>
      expect(await get(`${url}/v1/scale/all`, key)).toMatchObject({ pool: 'all', workers: { live: 1 } }),
    { timeout: 10_000, interval: 200 },
  );
  await endsCleanly(lehr, () => lehr.terminate());
});

test('After a launcher was killed, the next one takes over its Redis, even one that answers slowly', {
  tags: ['long'],
}, async () => {
  const { home, url, start } = await installation(clone.path, '.lehr-killed');
  const first = start();
  await first.ready();
  const key = readFileSync(join(home, 'api-key'), 'utf8').trim();
  const { id } = await drawn(url, key);
  const started = first.descendants();
  const pidOf = (part: string): number => {
    const found = started.find(({ command }) => command.includes(part));
    if (!found) throw new Error(`${part} is none of\n${started.map(({ command }) => command).join('\n')}`);
    return found.pid;
  };
  const redis = pidOf('redis-server');
  onTestFinished(
    () => void (isAlive(started.find(({ pid }) => pid === redis)!) && process.kill(redis, 'SIGKILL')),
  );
  process.kill(pidOf('infra/local/start.mjs'), 'SIGKILL');
  await first.exit;
  await vi.waitFor(() => expect(first.marked().filter(isOfLehr)).toEqual([]), {
    timeout: 60_000,
    interval: 50,
  });

  process.kill(redis, 'SIGSTOP');
  const second = start();
  await second.prints(/Waiting for the Redis that still runs/);
  process.kill(redis, 'SIGCONT');
  await second.ready();
  expect(await get(`${url}/v1/jobs/${id}`, key)).toMatchObject({ id, status: 'succeeded' });
  await endsCleanly(second, () => second.terminate());
});

test('Installations run side by side, but two launchers do not share a folder', {
  tags: ['long'],
}, async () => {
  const [one, other] = [
    await installation(clone.path, '.lehr-one'),
    await installation(clone.path, '.lehr-other'),
  ];
  const [first, second] = [one.start(), other.start()];
  await Promise.all([first.ready(), second.ready()]);
  for (const { home, url } of [one, other]) {
    const key = readFileSync(join(home, 'api-key'), 'utf8').trim();
    expect((await drawn(url, key)).status).toBe('succeeded');
  }

  const rival = (await installation(clone.path, '.lehr-one')).start();
  expect(await rival.exit).toBe(1);
  expect(rival.output).toContain(`Lehr already runs with the data in ${one.home}`);
  await endsCleanly(first, () => first.terminate());
  await endsCleanly(second, () => second.terminate());
});

/** Ends it with exit code 0, after which no process that it started is alive. */
async function endsCleanly(lehr: Launched, end: () => Promise<number | null>): Promise<void> {
  const started = lehr.descendants();
  for (const part of ['redis-server', 'api/dist/main.js', 'worker/dist/main.js', 'engine/process.js']) {
    expect(started.map(({ command }) => command).join('\n')).toContain(part);
  }
  expect(await end()).toBe(0);
  expect(started.filter(isAlive)).toEqual([]);
  expect(lehr.marked()).toEqual([]);
}

/** Redis, which hides its environment, is taken over and not waited for. */
const isOfLehr = ({ command }: { command: string }): boolean => command.includes('/dist/');

async function drawn(url: string, key: string): Promise<Job> {
  const body = JSON.stringify({ type: 'text-to-image', input: { prompt: 'a green square' } });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=30' };
  const answer = await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body });
  return (await answer.json()) as Job;
}

async function get(url: string, key: string): Promise<unknown> {
  return (await fetch(url, { headers: { authorization: `Bearer ${key}` } })).json();
}

function pngSize(path: string): { width: number; height: number } {
  const bytes = readFileSync(path);
  expect(bytes.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}
