/**
 * Tests that start Lehr's programs start them as users do, from the build; turbo makes this quick when nothing changed. When
 * the tree does not build, the tests that need no program still run; `npm test` builds before, and stops there.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export async function setup(): Promise<void> {
  try {
    await promisify(execFile)('npm', ['run', 'build']);
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    process.stderr.write(
      `The build failed; programs are those of the last one that worked.\n${stdout ?? error}\n`,
    );
  }
}
