import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

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
const THROWS_LATE = `test('passes', async () => { Promise.reject(new Error('nobody waits for this')); });`;

test('A test file that fails once is run again, and the run passes and lists the file', async () => {
  const { code, output } = await run({ passes: PASSES, once: FAILS_ONCE });
  expect(code).toBe(0);
  expect(output).toContain('1 test file failed; running again, alone:\n  once.test.js');
  expect(output).toContain('1 test file passed only in the second run, alone:\n  once.test.js');
  expect(output.match(/Test Files .*passed/g)).toHaveLength(2);
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
async function run(files: Record<string, string>): Promise<{ code: number; output: string }> {
  const cache = join(ROOT, 'node_modules/.cache');
  await mkdir(cache, { recursive: true });
  const root = await mkdtemp(join(cache, 'run-tests-'));
  onTestFinished(() => rm(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, `${name}.test.js`), text);
  await writeFile(
    join(root, 'vitest.config.mjs'),
    `import { TestReport } from ${JSON.stringify(REPORT)};
     export default { test: { globals: true, reporters: ['default', new TestReport()] } };`,
  );
  const script = `import { runTests } from ${JSON.stringify(RUN_TESTS)};
    process.exit(await runTests([], { root: ${JSON.stringify(root)} }));`;
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
