/**
 * Runs vitest, and runs the few files that failed a second time, alone. Most tests start processes and share two cores with
 * three other files; a file that fails beside them and passes alone depends on the machine's load. Such files do not fail the
 * run, but it lists them at its end, because each is a defect of a test or of Lehr.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ROOT, runCommand } from './command.mjs';
import { say, signal } from './lifecycle.mjs';

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
/** More failed files than this are no matter of load, and are not run again. */
const MOST_RUN_AGAIN = 4;

/** Leaves out the tests that take long by themselves; vitest.config.ts says what they are. */
const SHORT = ['--tagsFilter', '!long'];

/**
 * Runs the test files whose path contains a filter, whole, below `root`. Without a filter all files run, without their long
 * tests unless `all` is set. Resolves with the exit code.
 */
export async function runTests(filters, { root = ROOT, all = false } = {}) {
  const chosen = all || filters.length > 0 ? [] : SHORT;
  const list = join(root, 'node_modules/.cache/failed-test-files.json');
  const run = async (...args) => {
    await mkdir(dirname(list), { recursive: true });
    await rm(list, { force: true });
    const env = { FAILED_TEST_FILES: list };
    const code = await runCommand(process.execPath, [VITEST, 'run', '--root', root, ...chosen, ...args], {
      env,
      signal,
    });
    return { code, failed: code === 0 ? [] : await readFailed(list) };
  };
  const first = await run(...filters);
  if (first.failed.length === 0 || first.failed.length > MOST_RUN_AGAIN) return first.code;

  say(`\n--- ${count(first.failed)} failed; running again, alone:\n${lines(first.failed)}`);
  // A file that shared its process with others may have failed because of what they left there.
  const { code } = await run(...first.failed, '--no-file-parallelism', '--isolate');
  if (code === 0)
    say(`\n${count(first.failed)} passed only in the second run, alone:\n${lines(first.failed)}`);
  return code;
}

/** The failed files as the report lists them; none when vitest ended before its report, or because of an error outside of tests. */
async function readFailed(list) {
  try {
    return JSON.parse(await readFile(list, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

const count = (files) => `${files.length} test ${files.length === 1 ? 'file' : 'files'}`;
const lines = (files) => files.map((file) => `  ${file}`).join('\n');
