/** The launchers of the programs that test more than npm test pass their options on to those programs, which check them first. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from './readme.ts';

test.each(['device', 'fuzz', 'neighbours', 'peers', 'real', 'simulate', 'soak'])(
  'The launcher of %s passes its options on, and refuses an unknown one',
  async (name) => {
    const launched = promisify(execFile)(process.execPath, [
      join(ROOT, `infra/local/${name}.mjs`),
      '--unknown',
    ]);
    await expect(launched).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Unknown option '--unknown'"),
    });
  },
);
