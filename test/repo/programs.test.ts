/** How npm start and the measuring commands get the programs that are not npm modules. */
import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';
import { ROOT } from './readme.ts';

const ENSURE_FFMPEG = `
import { ensureFfmpeg } from '${join(ROOT, 'infra/local/ffmpeg.mjs')}';
const { signal } = new AbortController();
await ensureFfmpeg({ say: console.log, signal }).then(() => console.log('done'), ({ message }) => console.log(message));
`;

const ENSURE_SERVICES = `
import { ensureServices } from '${join(ROOT, 'infra/local/programs.mjs')}';
const { signal } = new AbortController();
await ensureServices({ say: console.log, signal }).then(() => console.log('done'), ({ message }) => console.log(message));
`;

const ensureFfmpeg = (programs: Readonly<Record<string, string>>): Promise<string> =>
  outputOf(ENSURE_FFMPEG, programs);

/** What the script prints where PATH has only these programs, given as shell scripts. */
async function outputOf(script: string, programs: Readonly<Record<string, string>>): Promise<string> {
  const folder = await tempFolder('programs');
  symlinkSync('/usr/bin/env', join(folder, 'env'));
  for (const [name, body] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\ncd ${folder}\n${body}\n`);
    await chmod(join(folder, name), 0o755);
  }
  const args = ['--input-type=module', '--eval', script];
  return (await promisify(execFile)(process.execPath, args, { env: { PATH: folder } })).stdout;
}

const SUDO = 'shift; exec "$@"';

test('npm start takes ffmpeg from PATH', async () => {
  expect(await ensureFfmpeg({ ffmpeg: '', 'apt-get': 'exit 1' })).toBe('done\n');
});

test('npm start installs ffmpeg with apt-get where PATH has none', async () => {
  const apt = '[ "$1" = install ] && { echo "#!/bin/sh" > ffmpeg; /bin/chmod 755 ffmpeg; }; exit 0';
  expect(await ensureFfmpeg({ sudo: SUDO, 'apt-get': apt })).toBe('Installing ffmpeg with apt-get.\ndone\n');
});

test('npm start explains how to get ffmpeg where apt-get cannot install it', async () => {
  const machines: Record<string, string>[] = [{}, { sudo: SUDO, 'apt-get': 'exit 100' }];
  for (const programs of machines) {
    const message = await ensureFfmpeg(programs);
    expect(message).toContain('Lehr needs ffmpeg for speech, and there is none here.');
    expect(message).toContain('sudo apt-get install ffmpeg');
    expect(message).toContain('LEHR_TASKS=diffusion npm start');
  }
});

test('A measuring command installs Redis where PATH has none, and only what it needs', async () => {
  const apt =
    '[ "$1" = install ] && { echo "#!/bin/sh" > redis-server; /bin/chmod 755 redis-server; }; exit 0';
  expect(await outputOf(ENSURE_SERVICES, { sudo: SUDO, ffmpeg: '', 'apt-get': apt })).toBe(
    'Installing redis-server with apt-get.\ndone\n',
  );
});

test('A measuring command explains which programs it lacks where apt-get cannot install them', async () => {
  const message = await outputOf(ENSURE_SERVICES, { ffmpeg: '', 'apt-get': 'exit 100', sudo: SUDO });
  expect(message).toContain('redis-server (every test that queues)');
  expect(message).toContain('sudo apt-get install redis-server');
});
