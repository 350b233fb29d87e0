/** How npm start gets the programs that are not npm modules. */
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

/** What ensureFfmpeg says where PATH has only these programs, given as shell scripts. */
async function ensureFfmpeg(programs: Readonly<Record<string, string>>): Promise<string> {
  const folder = await tempFolder('programs');
  symlinkSync('/usr/bin/env', join(folder, 'env'));
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\ncd ${folder}\n${script}\n`);
    await chmod(join(folder, name), 0o755);
  }
  const args = ['--input-type=module', '--eval', ENSURE_FFMPEG];
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
