/** What tests start or create ends with the test, or with the file when all of its tests share it. */
import { afterAll, beforeAll, onTestFinished } from 'vitest';

type Cleanup = () => unknown;

/** Set while something is made that a whole file shares. */
let ofFile: Cleanup[] | undefined;

/** Runs `cleanup` when what is made now is no longer needed. */
export function whenDone(cleanup: Cleanup): void {
  if (ofFile) ofFile.push(cleanup);
  else onTestFinished(async () => void (await cleanup()));
}

/** Makes something before the tests of a file, or of a `describe`, and ends after them what it started. It is empty until then. */
export function shared<Value extends object>(make: () => Promise<Value>): Value {
  const value = {} as Value;
  const cleanups: Cleanup[] = [];
  beforeAll(async () => {
    ofFile = cleanups;
    try {
      Object.assign(value, await make());
    } finally {
      ofFile = undefined;
    }
  });
  afterAll(async () => {
    // As with those of a test, the last thing made ends first.
    for (const cleanup of cleanups.reverse()) await cleanup();
  });
  return value;
}
