/**
 * Builds Lehr before the tests that start its programs; turbo skips what has not changed. If the build fails, the tests that
 * need no program still run; `npm test` builds first and stops at a failure.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export async function setup(): Promise<void> {
  try {
    await promisify(execFile)('npm', ['run', 'build']);
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    process.stderr.write(
      `The build failed; tests use the programs of the last successful build.\n${stdout ?? error}\n`,
    );
  }
}
