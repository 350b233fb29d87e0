/** The scenes, by `npm run lab -- containers`: one after the other, in the order of their table. */
import { defineConfig } from 'vitest/config';

const resolve = { conditions: ['lehr-source', 'node', 'default'] };
const HOUR = 3_600_000;

export default defineConfig({
  resolve,
  ssr: { resolve: { conditions: resolve.conditions, externalConditions: resolve.conditions } },
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['lab/containers/containers.lab.ts'],
    testTimeout: HOUR,
    hookTimeout: HOUR,
    expect: { poll: { timeout: 60_000 } },
  },
});
