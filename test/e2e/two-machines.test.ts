/** docs/two-machines.md is correct: its shell lines and the commands of its units run here, with a home for each machine. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { type LehrProcess, startCommand } from '../support/lehr-process.ts';
import { freePort } from '../support/ports.ts';
import { startRadosgw } from '../support/radosgw.ts';
import { tempFolder, tinyModels } from '../support/tiny-models.ts';

const BLOCKS = blocksOf(readText('docs/two-machines.md'));
const UNITS = ['lehr-redis.service', 'lehr-s3.service', 'lehr-api.service', 'lehr-worker.service'];
const run = promisify(execFile);

function block(label: string): string {
  const [found, another] = BLOCKS.filter((each) => each.label === label);
  if (!found || another) throw new Error(`docs/two-machines.md wants one block "${label}"`);
  return found.text;
}

/** A machine with its own /etc, /var/lib and /run below a folder. `ports`: those of the page, and those that are free here. */
async function machine(ports: Readonly<Record<string, string>>) {
  const folder = await tempFolder('machine');
  for (const name of ['etc', 'var/redis', 'run', 'units'])
    await mkdir(join(folder, name), { recursive: true });
  const here = (text: string): string =>
    Object.entries({
      '/etc/lehr': join(folder, 'etc'),
      '/var/lib/lehr': join(folder, 'var'),
      '/run/lehr-redis': join(folder, 'run'),
      '/opt/lehr': ROOT,
      '/usr/bin/node': process.execPath,
      'chown lehr ': ': ',
      ...ports,
    }).reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
  const shell = (label: string, env: Record<string, string> = {}) =>
    run('bash', ['-euc', here(block(label))], { cwd: folder, env: { PATH: process.env.PATH, ...env } });
  const variables = async (file: string): Promise<Record<string, string>> => {
    const lines = (await readFile(join(folder, 'etc', file), 'utf8')).trim().split('\n');
    return Object.fromEntries(lines.map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]));
  };
  /** Runs the command of the unit with its file of variables, as systemd does. */
  const start = async (unit: string, more: Record<string, string> = {}): Promise<LehrProcess> => {
    const text = here(block(unit));
    const [, command = ''] = /^ExecStart=(.*)$/m.exec(text) ?? [];
    const [, file = ''] = /^EnvironmentFile=.*\/(\S+)$/m.exec(text) ?? [];
    const [program, ...args] = command.split(' ');
    return startCommand(program, args, { ...(await variables(file)), ...more });
  };
  return { folder, here, shell, variables, start };
}

test.skipIf(process.env.LEHR_TEST_S3 === 'off')(
  'By docs/two-machines.md a picture of machine B opens through machine A, and a worker with another store is refused',
  { tags: ['long'] },
  async () => {
    const s3 = await startRadosgw();
    onTestFinished(() => s3.stop());
    await s3.createBucket('lehr');
    const port = await freePort();
    const ports = { 6379: `${await freePort()}`, 8333: new URL(s3.endpoint).port, 8080: `${port}` };
    const [a, b] = [await machine(ports), await machine(ports)];
    const HOST_A = 'localhost';
    await a.shell('certificates', { HOST_A });
    await a.shell('secrets', { HOST_A });
    await a.start('lehr-redis.service');

    // The credentials are those of the S3 server here.
    const { accessKeyId, secretAccessKey } = s3.credentials;
    const places = {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      LEHR_MODELS: await tinyModels(),
      LEHR_DEVICE: 'cpu',
      LEHR_WORKER_PORT: '0',
    };
    const { LEHR_API_KEY } = await a.variables('api.env');
    const api = await a.start('lehr-api.service', { ...places, LEHR_PORT: `${port}` });
    await api.logged('API is listening');

    const env = await run('sed', [
      's|^NODE_EXTRA.*|NODE_EXTRA_CA_CERTS=/etc/lehr/ca.crt|',
      join(a.folder, 'etc/worker.env'),
    ]);
    await writeFile(
      join(b.folder, 'etc/worker.env'),
      b.here(env.stdout.replaceAll(join(a.folder, 'var'), '/var/lib/lehr')),
    );
    await writeFile(join(b.folder, 'etc/ca.crt'), await readFile(join(a.folder, 'etc/ca.crt')));
    const worker = await b.start('lehr-worker.service', places);
    await worker.logged('worker serves');
    expect((await b.variables('worker.env')).LEHR_HOME).toBe(join(b.folder, 'var/worker'));

    const LEHR_URL = `http://127.0.0.1:${port}`;
    await a.shell('picture', { LEHR_URL, LEHR_API_KEY });
    const picture = await readFile(join(a.folder, 'picture.png'));
    expect(picture.subarray(1, 4).toString()).toBe('PNG');
    expect(existsSync(join(b.folder, 'var/worker/objects'))).toBe(false);

    const wrong = await b.start('lehr-worker.service', { ...places, LEHR_S3_BUCKET: '' });
    expect(await wrong.exited()).toBe(78);
    const said = wrong.lines.map(({ msg }) => msg).join('\n');
    expect(said).toContain(`the folder ${join(b.folder, 'var/worker/objects')} of`);
    expect(said).toContain('is not the one of this installation, the bucket lehr at');
    const distrustful = await b.start('lehr-worker.service', { ...places, NODE_EXTRA_CA_CERTS: '' });
    expect(await distrustful.exited()).toBe(69);
  },
);

test('systemd accepts the units of docs/two-machines.md', async () => {
  const { folder, here } = await machine({ '/usr/local/bin/weed': '/bin/true', 'User=lehr': 'User=root' });
  const files = UNITS.map((name) => join(folder, 'units', name));
  for (const [i, name] of UNITS.entries()) await writeFile(files[i], here(block(name)));
  const verify = run('systemd-analyze', ['verify', '--man=no', ...files]).catch(
    (error: NodeJS.ErrnoException) => {
      // Not every system has it.
      if (error.code === 'ENOENT') return { stderr: '' };
      throw error;
    },
  );
  const { stderr } = await verify;
  expect(stderr.split('\n').filter((line) => UNITS.some((name) => line.includes(name)))).toEqual([]);
});

test('docs/two-machines.md has no other commands', () => {
  const labels = BLOCKS.map(({ label }) => label).filter((label) => !UNITS.includes(label));
  // `install`, `start-a`, `start-b` and the firewall need root and machines; the host's name is set by the test.
  const known = ['install', 'name', 'certificates', 'secrets', 'firewall', 'start-a', 'start-b', 'picture'];
  expect(labels).toEqual(known);
});
