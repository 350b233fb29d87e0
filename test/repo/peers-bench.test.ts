/** The frame of npm run lab -- peers: the loads, what is counted, and the page that it writes. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { cpuSeconds } from '../../lab/peers/cpu.ts';
import { peersPage, readPeerResults } from '../../lab/peers/page.ts';
import { closedLoop, type Drawing, drawings, openLoop } from '../../lab/peers/pictures/load.ts';
import { inParallel } from '../../lab/peers/queue/program.ts';
import { Random } from '../support/random.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { blocksOf, ROOT, readText } from './readme.ts';

const take = (count: number, from: number): Drawing[] => {
  const source = drawings(128, from);
  return Array.from({ length: count }, () => source.next().value);
};

test('Every server gets the same pictures, and every ten of them have 30 % short, 50 % middle and 20 % long jobs', () => {
  const thirty = take(30, 7);
  expect(take(30, 7)).toEqual(thirty);
  for (const from of [0, 10, 20]) {
    const steps = thirty.slice(from, from + 10).map(({ inference_steps }) => inference_steps);
    expect(steps.sort((a, b) => a - b)).toEqual([2, 2, 2, 10, 10, 10, 10, 10, 25, 25]);
  }
  expect(new Set(thirty.map(({ guidance_scale }) => guidance_scale))).toEqual(new Set([3, 5, 7.5]));
  expect(new Set(thirty.map(({ seed }) => seed)).size).toBe(30);
});

test('In a closed loop each user has one request at a time', async () => {
  let inProgress = 0;
  let most = 0;
  const draw = async () => {
    most = Math.max(most, ++inProgress);
    await sleep(1);
    inProgress--;
    return new Uint8Array();
  };
  const ended = await closedLoop(draw, drawings(128, 1), { users: 4, seconds: 0.05 });
  expect(most).toBe(4);
  expect(inProgress).toBe(0);
  expect(ended.length).toBeGreaterThanOrEqual(4);
});

test('Arrivals of an open loop are the same for the same seed, and do not wait for answers', async () => {
  const run = async (): Promise<number> => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let asked = 0;
    const random = new Random(3);
    const draw = async () => {
      // No answer before the fifth request.
      if (++asked === 5) open();
      await gate;
      return new Uint8Array();
    };
    const plan = { perSecond: 200, seconds: 0.1, random: () => random.next() };
    return (await openLoop(draw, drawings(128, 1), plan)).length;
  };
  const [first, second] = [await run(), await run()];
  expect(first).toBeGreaterThanOrEqual(5);
  expect(second).toBe(first);
});

test('Each number is worked on once, so many at a time', async () => {
  const seen: number[] = [];
  await inParallel(10, 3, async (at) => {
    await sleep(0);
    seen.push(at);
  });
  expect(seen.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('The CPU time of a process includes that of its descendants', () => {
  expect(cpuSeconds([process.pid])).toBeGreaterThan(0);
  expect(cpuSeconds([process.ppid])).toBeGreaterThanOrEqual(cpuSeconds([process.pid]));
  expect(cpuSeconds([])).toBe(0);
});

test('The commands of lab/peers.md start locust and autocannon with the classic load', async () => {
  const folder = await tempFolder('classic-load');
  const calls = join(folder, 'calls');
  for (const program of ['locust', 'npx']) {
    const lines = ['#!/bin/sh', `echo ${program} "$LEHR_PICTURE_SIZE" "$@" >> '${calls}'`, ''];
    await writeFile(join(folder, program), lines.join('\n'), { mode: 0o755 });
  }
  const [block] = blocksOf(readText('lab/peers.md')).filter(({ label }) => label === 'classic');
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  await promisify(execFile)('sh', ['-ec', block.text.replaceAll('$(cat .lehr/api-key)', 'a-key')], {
    cwd: ROOT,
    env,
  });
  const [locust, autocannon] = (await readFile(calls, 'utf8')).split('\n');
  expect(locust).toContain('locust 256 --locustfile lab/peers/t2i.locust.py --headless --users 8');
  expect(readText('lab/peers/t2i.locust.py')).toContain('self.client.post("/t2i"');
  expect(autocannon).toContain('--connections 8 --duration 60');
  expect(autocannon).toContain('authorization=Bearer a-key');
  expect(autocannon).toContain('"width":256,"height":256,"inference_steps":20');
  expect(autocannon).toMatch(/http:\/\/127\.0\.0\.1:8080\/t2i$/);
});

test('lab/peers.md is the page that the committed results make', () => {
  expect(readText('lab/peers.md')).toBe(peersPage(readPeerResults()));
});
