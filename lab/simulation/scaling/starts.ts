/** Measures starts of the worker that ships, with the demo models, on this machine: each part of five starts. Needs the build. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { START_STAGES } from '../../../packages/shared/src/index.ts';
import { startRedis } from '../../../test/support/redis-server.ts';

const WORKER = fileURLToPath(new URL('../../../apps/worker/dist/main.js', import.meta.url));
const COUNT = 5;

type Stages = Readonly<Record<string, number>>;

/** One line for each part: its median, least and most. */
export async function measureStarts(): Promise<string> {
  const redis = await startRedis();
  const home = await mkdtemp(join(tmpdir(), 'lehr-starts-'));
  try {
    const starts: Stages[] = [];
    for (let i = 0; i < COUNT; i += 1) starts.push(await startOnce(redis.url, home));
    return tableOf(starts);
  } finally {
    await redis.stop();
    await rm(home, { recursive: true, force: true });
  }
}

async function startOnce(redisUrl: string, home: string): Promise<Stages> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'));
  const own = { LEHR_REDIS_URL: redisUrl, LEHR_HOME: home, LEHR_WORKER_PORT: '0', LEHR_DEVICE: 'cpu' };
  const child = spawn(process.execPath, [WORKER], {
    env: { ...Object.fromEntries(inherited), ...own },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let found: Stages | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.includes('worker started')) continue;
    const { stages_ms, total_ms } = JSON.parse(line) as { stages_ms: Stages; total_ms: number };
    found = { ...stages_ms, total: total_ms };
    child.kill('SIGTERM');
  }
  await ended;
  if (!found) throw new Error('a worker ended before it served');
  return found;
}

const MEANING: Readonly<Record<(typeof START_STAGES)[number] | 'total', string>> = {
  process: 'Node and the code of the worker',
  connect: 'the configuration, Redis and the store',
  pull: 'models that have to be fetched; the demo models are there already',
  open: 'the engine process, the graphs of three models, their warm-up and measurements, the audio threads',
  total: 'until the worker serves',
};

function tableOf(starts: readonly Stages[]): string {
  const lines = Object.entries(MEANING).map(([stage, meaning]) => {
    const times = starts.map((each) => (each[stage] ?? 0) / 1000).sort((a, b) => a - b);
    const [least, median, most] = [times[0], times[Math.floor(times.length / 2)], times[times.length - 1]];
    return `| \`${stage}\` | ${meaning} | ${median.toFixed(2)} s | ${least.toFixed(2)} to ${most.toFixed(2)} s |`;
  });
  return ['| Part | What it is | Median | Least to most |', '| --- | --- | --- | --- |', ...lines].join('\n');
}
