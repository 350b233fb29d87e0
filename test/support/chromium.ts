/** Where Chromium is; apart from browser.ts, because benches run without the test runner. */
import { existsSync } from 'node:fs';

const PATHS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Undefined if no browser is installed; tests that need one are then reported as skipped. */
export const chromiumPath: string | undefined = PATHS.find((path) => existsSync(path));
