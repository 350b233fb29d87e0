import { readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'vite';

/** Inside node_modules, so that a program resolves the installed packages like the sources. */
const PROGRAMS = fileURLToPath(new URL('../../node_modules/.cache/lehr-test/', import.meta.url));

/** The sources read Lua files beside them, so a bundle must contain these files. */
const inlineLua: Plugin = {
  name: 'inline-lua',
  enforce: 'pre',
  transform: (code, id) =>
    code.replace(/readFileSync\(new URL\('(.+?\.lua)', import\.meta\.url\), 'utf8'\)/g, (_, file: string) =>
      JSON.stringify(readFileSync(join(dirname(id), file), 'utf8')),
    ),
};

const built = new Map<string, Promise<string>>();

/**
 * Bundles a TypeScript program and its imports into one file that plain `node` runs, and returns its path, for tests that
 * kill a separate process. `entry` is relative to the `import.meta.url` of the caller. Each program is bundled once; the files
 * are removed when the test process ends.
 */
export function bundle(entry: string, importer: string): Promise<string> {
  const source = fileURLToPath(new URL(entry, importer));
  let program = built.get(source);
  if (!program) {
    program = writeProgram(source);
    built.set(source, program);
  }
  return program;
}

async function writeProgram(source: string): Promise<string> {
  const outDir = join(PROGRAMS, `${process.pid}`);
  if (built.size === 0) process.once('exit', () => rmSync(outDir, { recursive: true, force: true }));
  await build({
    configFile: false,
    logLevel: 'error',
    // The sources of the packages, so that unit tests need no build.
    ssr: { noExternal: [/^@lehr\//], resolve: { conditions: ['lehr-source', 'node', 'default'] } },
    plugins: [inlineLua],
    build: {
      ssr: source,
      outDir,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { output: { entryFileNames: '[name].mjs', codeSplitting: false } },
    },
  });
  return join(outDir, basename(source).replace(/\.ts$/, '.mjs'));
}
