/** The launchers of the programs that test more than npm test pass their options on to those programs, which check them first. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';
import { ROOT, readText } from './readme.ts';

const run = promisify(execFile);
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
/** What `npm run` starts for this script. */
function launcher(script: string): string[] {
  const [, , file, ...args] = scripts[script].split(' ');
  return [join(ROOT, file), ...args];
}

test.each(['bench', 'device', 'fuzz', 'peers', 'real', 'simulate', 'soak', 'test:neighbours'])(
  'The launcher of %s passes its options on, and refuses an unknown one',
  async (name) => {
    await expect(run(process.execPath, [...launcher(name), '--unknown'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Unknown option '--unknown'"),
    });
  },
);

test.each([
  ['bench', '--quick', /^ {2}claim$/m],
  ['peers', '--again', /^ {2}pictures\n {4}demo-saturation: /m],
  ['real', '--only NAME', /^ {2}whisper\n {4}weights: /m],
  ['soak', '--seed N', /^ {2}--write /m],
])(
  'The launcher of %s prints its options and what it can run, and ends with 0',
  async (name, option, part) => {
    const { stdout } = await run(process.execPath, [...launcher(name), '--help']);
    expect(stdout).toContain(`Usage: npm run ${name} `);
    expect(stdout).toContain(option);
    expect(stdout).toMatch(part);
  },
);

test.each([
  ['bench', ['--unknown'], "Unknown option '--unknown'. --help lists the options."],
  ['real', ['--only'], "Option '--only <value>' argument missing. --help lists the options."],
  ['real', ['--only', '--again'], "Option '--only' argument is ambiguous. --help lists the options."],
  ['soak', ['--unknown'], "Unknown option '--unknown'. --help lists the options."],
  ['peers', ['whisper'], "There is no section 'whisper'. The sections are: pictures, queue."],
])('The launcher of %s answers a mistake with one line', async (name, args, line) => {
  await expect(run(process.execPath, [...launcher(name), ...args])).rejects.toMatchObject({
    code: 1,
    stderr: `\n${line}\n`,
  });
});

test('The lab lists its suites, and refuses one that it does not have before it installs anything', async () => {
  const lab = join(ROOT, 'lab/main.mjs');
  const { stdout } = await run(process.execPath, [lab, '--help']);
  expect(stdout).toMatch(/^containers {3}/m);
  await expect(run(process.execPath, [lab, 'nothing'])).rejects.toMatchObject({
    code: 1,
    stderr: "\nThere is no suite 'nothing'. The suites are: containers, cluster.\n",
  });
});

test('A second run of the containers is refused while one lives', async () => {
  const home = await tempFolder('lab');
  const work = join(home, '.cache/lehr-lab');
  await mkdir(work, { recursive: true });
  await writeFile(join(work, 'lab.pid'), String(process.pid));
  const second = run(process.execPath, [join(ROOT, 'lab/main.mjs'), 'containers'], {
    env: { ...process.env, HOME: home },
  });
  await expect(second).rejects.toMatchObject({
    code: 1,
    stderr: `\nThe suite containers runs already, as process ${process.pid} (${join(work, 'lab.pid')}).\n`,
  });
});
