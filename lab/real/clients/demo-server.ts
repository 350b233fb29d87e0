/** `npm start` with the demo models, on free ports and in its own folder. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../test/support/ports.ts';

const ROOT = new URL('../../../', import.meta.url).pathname;
const START_LIMIT_MS = 300_000;
const KEY = 'lehr_real_clients_0123456789abcdef';

export interface DemoServer {
  readonly url: string;
  /** The operator's key. */
  readonly key: string;
  stop(): Promise<void>;
}

/** Resolves when the API has a worker. Throws when that takes longer than five minutes. */
export async function startDemoServer(): Promise<DemoServer> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-clients-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('LEHR_'));
  const child = spawn(process.execPath, [join(ROOT, 'infra/local/start.mjs')], {
    cwd: ROOT,
    env: {
      ...Object.fromEntries(inherited),
      LEHR_HOME: home,
      LEHR_PORT: `${port}`,
      LEHR_WORKER_PORT: `${await freePort()}`,
      LEHR_API_KEY: KEY,
      // The receivers of webhooks are on this machine.
      LEHR_EGRESS_ALLOW: '*',
      LEHR_LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    }
    await rm(home, { recursive: true, force: true });
  };
  const endsAt = performance.now() + START_LIMIT_MS;
  while (!(await hasWorker(url))) {
    if (performance.now() > endsAt || child.exitCode !== null) {
      await stop();
      throw new Error('npm start does not become ready; its errors are above.');
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return { url, key: KEY, stop };
}

async function hasWorker(url: string): Promise<boolean> {
  const response = await fetch(`${url}/readyz`).catch(() => undefined);
  return response?.ok === true && ((await response.json()) as { workers: number }).workers > 0;
}
