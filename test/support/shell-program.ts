/** A program for tests that replaces another one. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Writes a shell script and returns its path. It may write files beside itself: "$0.out". */
export function shellProgram(script: string, name = 'program'): string {
  const folder = mkdtempSync(join(tmpdir(), 'lehr-program-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}
