/** The soak, by `npm run lab -- soak`. */
import { defineConfig } from 'vitest/config';

const resolve = { conditions: ['lehr-source', 'node', 'default'] };

export default defineConfig({
  resolve,
  ssr: { resolve: { conditions: resolve.conditions, externalConditions: resolve.conditions } },
  test: {
    root: new URL('../../..', import.meta.url).pathname,
    include: ['lab/chaos/soak/soak.ts'],
    hookTimeout: 600_000,
  },
});
