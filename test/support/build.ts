/** Tests that start Lehr's programs start them as users do, from the build; turbo makes this quick when nothing changed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export async function setup(): Promise<void> {
  await promisify(execFile)('npm', ['run', 'build']);
}
