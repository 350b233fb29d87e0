import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

/**
 * Writes a TypeScript program and all it imports as one file that plain `node` runs, and returns its path: for tests
 * that need a process of their own to kill. `entry` is relative to the caller's `import.meta.url`.
 */
export async function bundle(entry: string, importer: string, directory: string): Promise<string> {
  await build({
    configFile: false,
    logLevel: 'error',
    resolve: { conditions: ['lehr-source', 'node', 'default'] },
    ssr: { noExternal: true },
    build: {
      ssr: fileURLToPath(new URL(entry, importer)),
      outDir: directory,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { output: { entryFileNames: '[name].mjs', codeSplitting: false } },
    },
  });
  return join(directory, basename(entry).replace(/\.ts$/, '.mjs'));
}
