/** The fault suite, by `npm run lab -- chaos`. One file at a time, because the rows measure how long a recovery takes. */
import { defineConfig } from 'vitest/config';

const resolve = { conditions: ['lehr-source', 'node', 'default'] };

export default defineConfig({
  resolve,
  ssr: { resolve: { conditions: resolve.conditions, externalConditions: resolve.conditions } },
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['lab/chaos/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
