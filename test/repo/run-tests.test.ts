import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { readText } from './readme.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const REPORT = pathToFileURL(join(ROOT, 'infra/local/test-report.ts'));
const RUN_TESTS = pathToFileURL(join(ROOT, 'infra/local/run-tests.mjs'));

const PASSES = `test('passes', () => expect(1).toBe(1));`;
const FAILS = `test('fails', () => expect(1).toBe(2));`;
/** Fails in the first run, which leaves a file behind. */
const FAILS_ONCE = `
import { existsSync, writeFileSync } from 'node:fs';
test('fails once', () => {
  const mark = new URL('ran', import.meta.url);
  const ran = existsSync(mark);
  writeFileSync(mark, '');
  expect(ran).toBe(true);
});`;
/** Fails in the first run, and in a process in which another such file ran before. */
const FAILS_ONCE_AND_BESIDE_OTHERS = `
import { existsSync, writeFileSync } from 'node:fs';
test('needs a process of its own', () => {
  const mark = new URL(import.meta.url + '.ran');
  const isFirst = !existsSync(mark);
  writeFileSync(mark, '');
  const hasOwnProcess = process.env.RAN_BEFORE === undefined;
  process.env.RAN_BEFORE = 'yes';
  expect({ isFirst, hasOwnProcess }).toEqual({ isFirst: false, hasOwnProcess: true });
});`;
const THROWS_LATE = `test('passes', async () => { Promise.reject(new Error('nobody waits for this')); });`;

test('A test file that fails once is run again, and the run passes and lists the file', async () => {
  const { code, output } = await run({ passes: PASSES, once: FAILS_ONCE });
  expect(code).toBe(0);
  expect(output).toContain('1 test file failed; running again, alone:\n  once.test.js');
  expect(output).toContain('1 test file passed only in the second run, alone:\n  once.test.js');
  expect(output.match(/Test Files .*passed/g)).toHaveLength(2);
});

test('In the second run, files that shared a process have one each', async () => {
  const files = { one: FAILS_ONCE_AND_BESIDE_OTHERS, two: FAILS_ONCE_AND_BESIDE_OTHERS };
  const { code, output } = await run(files);
  expect(output).toContain('2 test files failed; running again, alone:');
  expect(output).toContain('2 test files passed only in the second run, alone:');
  expect(code).toBe(0);
});

test('A run leaves out the long tests and counts them, and runs all of them where all are wanted', async () => {
  // More files than the report lists as the slowest.
  const short = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`short${i}`, PASSES]));
  const files = { ...short, long: `${PASSES} test('is long', { tags: ['long'] }, () => expect(1).toBe(1));` };
  const some = await run(files);
  expect(some.code).toBe(0);
  expect(some.output).toContain('1 long tests were left out: npm test -- --all runs them.');
  expect(some.output).toMatch(/Tests .*11 passed .*1 skipped/);
  expect(some.output).not.toContain('Skipped tests:');
  const whole = await run(files, { all: true });
  expect(whole.output).toMatch(/Tests .*12 passed/);
  expect(whole.output).not.toContain('left out');
});

test('A run whose second run fails too has failed', async () => {
  const { code, output } = await run({ once: FAILS_ONCE, fails: FAILS });
  expect(code).toBe(1);
  expect(output).toContain('2 test files failed; running again, alone:');
  expect(output).not.toContain('passed only in the second run');
});

test('A run in which more than four files fail is not repeated', async () => {
  const { code, output } = await run({ a: FAILS, b: FAILS, c: FAILS, d: FAILS, e: FAILS });
  expect(code).toBe(1);
  expect(output).not.toContain('running again');
});

test('A run that fails because of an error outside of its tests is not repeated', async () => {
  const { code, output } = await run({ late: THROWS_LATE, passes: PASSES });
  expect(code).toBe(1);
  expect(output).toContain('nobody waits for this');
  expect(output).not.toContain('running again');
});

/** Runs these test files as npm test does, in a project of their own. */
async function run(
  files: Record<string, string>,
  options: Record<string, unknown> = {},
): Promise<{ code: number; output: string }> {
  const cache = join(ROOT, 'node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const root = await mkdtemp(join(cache, 'run-tests-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, `${name}.test.js`), text);
  await writeFile(
    join(root, 'vitest.config.mjs'),
    `import { TestReport } from ${JSON.stringify(REPORT)};
     const project = { test: { globals: true, isolate: false } };
     const tags = [{ name: 'long' }];
     export default { test: { reporters: ['default', new TestReport()], projects: [project], tags } };`,
  );
  const script = `import { runTests } from ${JSON.stringify(RUN_TESTS)};
    process.exit(await runTests([], ${JSON.stringify({ root, ...options })}));`;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { env: { ...process.env, NO_COLOR: '1' } },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code) : 0, output: `${stdout}${stderr}` });
      },
    );
  });
}

test('Every change is tested by npm test, with the Node of the README and the oldest that package.json allows, and by all tests', () => {
  const { jobs } = parse(readText('.github/workflows/ci.yml')) as {
    jobs: Record<'test' | 'all', { strategy: { matrix: { node: string[] } }; steps: { run?: string }[] }>;
  };
  const [, oldest] = /"node": ">=([\d.]+)"/.exec(readText('package.json')) ?? [];
  const [, wanted] = /needs Node (\d+)/.exec(readText('README.md')) ?? [];
  expect(jobs.test.strategy.matrix.node).toEqual([oldest, wanted]);
  expect(jobs.test.steps.flatMap(({ run }) => run ?? [])).toEqual(['npm test']);
  expect(jobs.all.steps.flatMap(({ run }) => run ?? [])).toEqual(['npm test -- --all']);
  expect(readText('.ci/run')).toContain('exec npm test');
});
