/** `lehr logs` over log files as the processes of Lehr write them. */
import { appendFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';
import { startLehrCommand } from './lehr-command.ts';

interface Fields {
  readonly [field: string]: unknown;
}

/** A line of the log, `second` seconds after noon. */
const line = (second: number, app: 'api' | 'worker', msg: string, fields: Fields = {}): string =>
  `${JSON.stringify({
    level: 'info',
    time: `2026-01-02T12:00:${String(second).padStart(2, '0')}.000Z`,
    app,
    pid: 7,
    ...fields,
    msg,
  })}\n`;

/** Of two processes; `job_flow` is a workflow with the node `job_node`. */
const API = [
  line(1, 'api', 'API is listening'),
  line(2, 'api', 'answered', { trace: 'f00', requestId: 'r1', route: '/v1/jobs' }),
  line(9, 'api', 'webhook failed after its last attempt', { job: 'job_flow', event: 'job.succeeded' }),
].join('');
const WORKER = [
  line(3, 'worker', 'job started', { job: 'job_other', attempt: 1 }),
  line(4, 'worker', 'job started', { job: 'job_node', workflow: 'job_flow', attempt: 1, trace: 'f00' }),
  line(5, 'worker', 'engine died', { jobs: ['job_node', 'job_other'] }),
  line(6, 'worker', 'job succeeded', { job: 'job_node', state: 'succeeded' }),
  line(7, 'worker', 'job succeeded', { job: 'job_other', state: 'succeeded' }),
].join('');

async function home(): Promise<string> {
  const folder = await tempFolder('logs');
  await mkdir(join(folder, 'logs'));
  await writeFile(join(folder, 'logs/api.log'), API);
  await writeFile(join(folder, 'logs/worker.log'), `not a line of Lehr\n${WORKER}`);
  return folder;
}

const logs = (LEHR_HOME: string, ...args: string[]) =>
  startLehrCommand(['logs', ...args], { env: { LEHR_HOME } });

test('The lines of all processes are shown in the order of their times, and other text in the files is left out', async () => {
  const { code, stdout, stderr } = await logs(await home()).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const shown = stdout.trimEnd().split('\n');
  expect(shown.map((each) => each.slice(0, 12))).toEqual(
    [1, 2, 3, 4, 5, 6, 7, 9].map((second) => `12:00:0${second}.000`),
  );
  expect(shown[2]).toBe('12:00:03.000  worker  info   job started  job=job_other  attempt=1');
});

test('The lines of a workflow are its own, those of its nodes, and those of batches that they were in', async () => {
  const { stdout } = await logs(await home(), 'job_flow', '--json').ended;
  const seconds = stdout
    .trimEnd()
    .split('\n')
    .map((each) => new Date((JSON.parse(each) as { time: string }).time).getSeconds());
  expect(seconds).toEqual([4, 5, 6, 9]);
});

test('A job of a traced request is shown with the requests of its trace that came later', async () => {
  const folder = await home();
  await appendFile(
    join(folder, 'logs/api.log'),
    line(8, 'api', 'answered', { trace: 'f00', route: '/v1/jobs/{id}' }),
  );
  const { stdout } = await logs(folder, 'job_node').ended;
  expect(stdout).toContain('12:00:08.000  api     info   answered  trace=f00');
  expect(stdout).not.toContain('job_other  ');
});

test('--follow shows lines of any process as they are written, also after a rotation, until it is interrupted', async () => {
  const folder = await home();
  const { child, ended } = logs(folder, 'job_next', '--follow');
  let seen = '';
  child.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString();
  });
  // Until the command has read the files, it is not known whether a line is read as old or as new.
  await appendFile(join(folder, 'logs/worker.log'), line(10, 'worker', 'job started', { job: 'job_next' }));
  await vi.waitFor(() => expect(seen).toContain('12:00:10'), 30_000);
  await rename(join(folder, 'logs/worker.log'), join(folder, 'logs/worker.1.log'));
  await writeFile(join(folder, 'logs/worker.log'), line(11, 'worker', 'job succeeded', { job: 'job_next' }));
  await vi.waitFor(() => expect(seen).toContain('12:00:11'), 30_000);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, stderr: '' });
  expect(seen.trimEnd().split('\n')).toHaveLength(2);
});

test('Named files and standard input are read in place of the files of npm start', async () => {
  const folder = await home();
  const named = await logs(folder, '--file', join(folder, 'logs/api.log')).ended;
  expect(named.stdout.trimEnd().split('\n')).toHaveLength(3);
  const piped = await startLehrCommand(['logs', 'job_other', '--file', '-'], { stdin: WORKER }).ended;
  expect(piped.stdout.trimEnd().split('\n')).toHaveLength(3);
});

test('Without log files the command says where it looked and what to do', async () => {
  const folder = await tempFolder('none');
  const none = await logs(folder).ended;
  expect(none).toMatchObject({ code: 66, stderr: expect.stringContaining(join(folder, 'logs')) });
  const missing = await logs(folder, '--file', join(folder, 'gone.log')).ended;
  expect(missing).toMatchObject({ code: 66, stderr: expect.stringContaining('gone.log cannot be read') });
});

test('Standard input cannot be followed, and the command says so at once', async () => {
  const { code, stderr } = await startLehrCommand(['logs', '--file', '-', '--follow']).ended;
  expect({ code, stderr }).toMatchObject({
    code: 64,
    stderr: expect.stringContaining('--follow cannot wait'),
  });
});

test('Control characters in a line do not reach the terminal', async () => {
  const stdin = line(1, 'worker', 'job started', { job: 'job_\u001b[2J' });
  const { stdout } = await startLehrCommand(['logs', '--file', '-'], { stdin }).ended;
  expect(stdout).not.toContain('\u001b');
});
