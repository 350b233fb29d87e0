/** npm run lab: its help, and what it says to a mistake. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';
import { ROOT } from './readme.ts';

/** In the order of the help. */
const SUITES = [
  'bench',
  'real',
  'peers',
  'chaos',
  'soak',
  'fuzz',
  'noisy-tenants',
  'job-search',
  'simulation',
  'simulation scaling',
  'device',
  'containers',
  'cluster',
];

const LAB = join(ROOT, 'lab/main.mjs');
const lab = (...args: string[]) => promisify(execFile)(process.execPath, [LAB, ...args]);

test('The lab prints every suite with its options, and ends with 0', async () => {
  const { stdout } = await lab('--help');
  expect(stdout.match(/^[a-z-]+(?: scaling)?$|^[a-z-]+(?= {2,}\S)/gm)).toEqual(SUITES);
});

test.each([
  ['bench', /^ {2}claim$/m],
  ['chaos', /^ {2}f03-frozen-worker$/m],
  ['peers', /^ {2}pictures\n {4}demo-saturation: /m],
  ['real', /^ {2}whisper\n {4}weights: /m],
])('The help of %s ends with the names of what it can run', async (suite, names) => {
  const { stdout } = await lab(suite, '--help');
  expect(stdout).toContain(`\nThe names of ${suite}:\n`);
  expect(stdout).toMatch(names);
});

test.each([
  ...SUITES.map((suite) => [`${suite} --unknown`, "Unknown option '--unknown'. --help lists the options."]),
  ['real --only', "Option '--only <value>' argument missing. --help lists the options."],
  ['peers whisper', "peers has nothing with 'whisper' in its name. It has: pictures, queue."],
  ['nothing --write', `There is no suite 'nothing'. The suites are: ${SUITES.join(', ')}.`],
])('A mistake is answered with one line, before anything is installed: %s', async (args, line) => {
  await expect(lab(...args.split(' '))).rejects.toMatchObject({ code: 1, stderr: `\n${line}\n` });
});

test('A second run of the containers is refused while one lives', async () => {
  const home = await tempFolder('lab');
  const work = join(home, '.cache/lehr-lab');
  await mkdir(work, { recursive: true });
  await writeFile(join(work, 'lab.pid'), String(process.pid));
  const second = promisify(execFile)(process.execPath, [LAB, 'containers'], {
    env: { ...process.env, HOME: home },
  });
  await expect(second).rejects.toMatchObject({
    code: 1,
    stderr: `\nThe suite containers runs already, as process ${process.pid} (${join(work, 'lab.pid')}).\n`,
  });
});
