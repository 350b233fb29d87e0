import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test, vi } from 'vitest';

const KEEPER = new URL('./keeper.mjs', import.meta.url).pathname;
/** Starts two programs that do not end by themselves, and prints what the keeper says. */
const OWNER = `
  const keeper = require('node:child_process').fork(${JSON.stringify(KEEPER)});
  keeper.on('message', (message) => console.log(JSON.stringify(message)));
  for (const name of ['first', 'second'])
    keeper.send({ name, program: 'sleep', args: ['1000'], log: '/dev/null' });
  keeper.send({ name: 'missing', program: '/no/such/program', args: [], log: '/dev/null' });
`;

/** A busy machine starts and ends programs late. */
const WAIT = { timeout: 60_000 };

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'The programs of a control plane end when its owner gets %s',
  async (signal) => {
    const owner = spawn(process.execPath, ['-e', OWNER], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void owner.kill('SIGKILL'));
    const said: { name: string; pid?: number; ended?: string }[] = [];
    createInterface({ input: owner.stdout }).on('line', (line) => said.push(JSON.parse(line)));
    await vi.waitFor(() => expect(said.length).toBe(3), WAIT);
    const pids = said.flatMap(({ pid }) => pid ?? []);
    expect(pids.length).toBe(2);
    expect(said.find(({ name }) => name === 'missing')?.ended).toContain('ENOENT');
    expect(pids.some(isGone)).toBe(false);
    owner.kill(signal);
    await vi.waitFor(() => expect(pids.every(isGone)).toBe(true), WAIT);
  },
);
