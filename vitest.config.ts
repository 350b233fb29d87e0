import { defineConfig } from 'vitest/config';

/** Packages resolve to each other's sources, so unit tests need no build. */
const resolve = { conditions: ['lehr-source', 'node', 'default'] };
const ssr = { resolve: { conditions: resolve.conditions, externalConditions: resolve.conditions } };

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        ssr,
        test: { name: 'unit', include: ['{apps,packages}/*/src/**/*.test.ts'], testTimeout: 20_000 },
      },
      {
        resolve,
        ssr,
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts'],
          globalSetup: ['test/support/build.ts'],
          exclude: ['test/bench/**'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // Each file starts real servers of its own; two at a time is what two cores can carry.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
