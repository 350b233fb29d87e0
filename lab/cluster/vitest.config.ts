/** The suite on a real Kubernetes control plane, by `npm run lab -- cluster`. One file at a time: each has a control plane. */
import { defineConfig } from 'vitest/config';

const resolve = { conditions: ['lehr-source', 'node', 'default'] };

export default defineConfig({
  resolve,
  ssr: { resolve: { conditions: resolve.conditions, externalConditions: resolve.conditions } },
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['lab/cluster/*.cluster.ts', 'test/infra/rendered-*.test.ts'],
    fileParallelism: false,
    globalSetup: ['lab/cluster/write-page.ts'],
    testTimeout: 1_500_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  },
});
