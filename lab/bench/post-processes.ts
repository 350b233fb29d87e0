/** How fast one and two API processes, as they ship, accept jobs on the same Redis. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../test/support/ports.ts';
import { FSYNC_EVERY_SECOND, startRedis } from '../../test/support/redis-server.ts';
import { ownCpuSeconds } from '../peers/cpu.ts';
import { BODY, KEY, MODELS, type Rate, runLoad } from './post-rate.ts';
import { ready } from './whole-lehr.ts';

export interface ApiProcesses {
  /** Posts to the first `count` processes at once, with as many jobs to each. */
  post(count: number): Promise<Rate>;
  close(): Promise<void>;
}

const JOBS_OF_EACH = 1500;
const CONNECTIONS = 32;
const API = fileURLToPath(new URL('../../apps/api/dist/main.js', import.meta.url));

export async function openApiProcesses(most: number): Promise<ApiProcesses> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-bench-'));
  await writeFile(join(home, 'models.yaml'), MODELS);
  const server = await startRedis(FSYNC_EVERY_SECOND);
  const ports: number[] = [];
  const programs: ChildProcess[] = [];
  for (let i = 0; i < most; i++) {
    const port = await freePort();
    ports.push(port);
    programs.push(spawn(process.execPath, [API], { env: envOf(home, port, server.url), stdio: 'ignore' }));
  }
  const loads = ports.map(() =>
    fork(fileURLToPath(new URL('./post-load.ts', import.meta.url)), { execArgv: process.execArgv }),
  );
  await Promise.all(ports.map((port) => ready(`http://127.0.0.1:${port}/healthz`)));
  const cpuS = (count: number): number =>
    programs.slice(0, count).reduce((sum, { pid = 0 }) => sum + ownCpuSeconds(pid), 0);
  return {
    post: async (count) => {
      const before = cpuS(count);
      const times = await Promise.all(
        ports.slice(0, count).map((port, i) => {
          const connections = CONNECTIONS / count;
          return runLoad(loads[i], { port, key: KEY, body: BODY, count: JOBS_OF_EACH, connections });
        }),
      );
      const jobs = JOBS_OF_EACH * count;
      const cpuMs = ((cpuS(count) - before) * 1000) / jobs;
      return { perSecond: (jobs / Math.max(...times)) * 1000, cpuMs };
    },
    close: async () => {
      for (const load of loads) load.disconnect();
      await Promise.all(programs.map(stop));
      await server.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

const envOf = (home: string, port: number, url: string): NodeJS.ProcessEnv => ({
  ...process.env,
  LEHR_HOME: home,
  LEHR_MODELS: join(home, 'models.yaml'),
  LEHR_PORT: `${port}`,
  LEHR_REDIS_URL: url,
  LEHR_API_KEY: KEY,
  LEHR_LOG_LEVEL: 'error',
  // No worker runs, so no wait may be too long.
  LEHR_MAX_WAIT_S: '1e9',
});

async function stop(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const exit = once(program, 'exit');
  program.kill('SIGTERM');
  await exit;
}
