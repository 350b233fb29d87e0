/** What commands leave behind when they end: no process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, type TestContext, test, vi } from 'vitest';
import { SLOW_MACHINE } from '../support/timeouts.ts';
import { isAlive, isRunning, Launched } from './launched.ts';
import { ROOT } from './readme.ts';

/** A program that starts a child which goes on at SIGTERM, and prints the child's pid when it is ready for the signal. */
const WITH_STUBBORN_CHILD = `
import { spawn } from 'node:child_process';
const child = spawn('sh', ['-c', "trap '' TERM; echo ready; while :; do sleep 1; done"], { stdio: ['ignore', 'pipe', 'inherit'] });
child.stdout.once('data', () => {
  console.log('child ' + child.pid);
  process.send?.('child ' + child.pid);
  if (process.argv[1] !== 'waits') throw new Error('a program that fails');
});`;

/** A command that runs this program as the lab runs a bench file. */
const LAUNCHER = `
import { runCommand } from '${join(ROOT, 'infra/local/command.mjs')}';
import { signal, stopAndExit, stopOnSignals } from '${join(ROOT, 'infra/local/lifecycle.mjs')}';
stopOnSignals();
const args = ['--input-type=module', '--eval', process.env.PROGRAM, process.argv[1] ?? 'waits'];
const isQuiet = process.argv[1] === 'throws quietly';
await runCommand(process.execPath, args, { signal, quiet: isQuiet, onMessage: isQuiet ? console.log : undefined });
stopAndExit('The program has ended.', 0);`;

async function launch(
  mode: 'waits' | 'throws' | 'throws quietly',
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
) {
  const launcher = spawn(process.execPath, ['--input-type=module', '--eval', LAUNCHER, mode], {
    env: { ...process.env, PROGRAM: WITH_STUBBORN_CHILD },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exit = once(launcher, 'exit');
  const [line] = (await once(createInterface({ input: launcher.stdout }), 'line')) as [string];
  const child = Number(line.replace('child ', ''));
  onTestFinished(() => {
    if (isRunning(child)) process.kill(child, 'SIGKILL');
  });
  return { launcher, exit, child };
}

// Together: almost all of their time they wait for the children to be killed.
test.concurrent('An interrupted command ends what it has started, also children that go on at SIGTERM', async (context) => {
  const { launcher, exit, child } = await launch('waits', context);
  launcher.kill('SIGINT');
  await exit;
  await vi.waitFor(() => expect(isRunning(child)).toBe(false), SLOW_MACHINE);
});

test.concurrent.for(['throws', 'throws quietly'] as const)(
  'A command whose program fails ends the children that the program left behind, also when they hold its output: %s',
  async (mode, context) => {
    const { exit, child } = await launch(mode, context);
    await exit;
    await vi.waitFor(() => expect(isRunning(child)).toBe(false), SLOW_MACHINE);
  },
);

test('An interrupted bench leaves neither its Redis nor another process behind', {
  tags: ['long'],
}, async () => {
  const bench = new Launched({ clone: ROOT, script: 'lab', args: ['bench', 'claim', '--quick'], env: {} });
  onTestFinished(() => bench.killAll());
  await bench.prints(/1 of 1: claim of/);
  const started = await vi.waitFor(() => {
    const all = bench.descendants();
    expect(all.some(({ command }) => command.startsWith('redis-server'))).toBe(true);
    return all;
  }, SLOW_MACHINE);
  await bench.interrupt();
  expect(bench.output).toContain('SIGINT: stopping.');
  expect([...started.filter(isAlive), ...bench.marked()]).toEqual([]);
});
