/** What a user installs with the client: four small modules, and nothing of the server. */
import { execFileSync } from 'node:child_process';
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { ROOT } from '../house/readme.ts';
import { startProgram } from '../support/lehr-process.ts';
import { tempFolder } from '../support/tiny-models.ts';

const CLIENT = join(ROOT, 'packages/client');
const ALLOWED = ['@stablelib/base64', 'eventsource-parser', 'fast-sha256', 'standardwebhooks'];

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly files: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
}
const manifestOf = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));

test('The client has four small modules as dependencies, direct and indirect', async () => {
  const seen = new Set<string>();
  const walk = async (folder: string): Promise<void> => {
    for (const name of Object.keys((await manifestOf(folder)).dependencies ?? {})) {
      if (seen.has(name)) continue;
      seen.add(name);
      await walk(join(ROOT, 'node_modules', name));
    }
  };
  await walk(CLIENT);
  expect([...seen].sort()).toEqual(ALLOWED);
});

test('The published files work in another folder with only their dependencies', async () => {
  const folder = await tempFolder('installed');
  const modules = join(folder, 'node_modules');
  const { files, bin, exports } = await manifestOf(CLIENT);
  for (const file of [...files, 'package.json']) {
    await cp(join(CLIENT, file), join(modules, '@lehr/client', file), { recursive: true });
  }
  for (const name of ALLOWED) {
    await cp(join(ROOT, 'node_modules', name), join(modules, name), { recursive: true });
  }
  const program = pathToFileURL(join(modules, '@lehr/client', exports['.'].default)).href;
  const script = `const sdk = await import(${JSON.stringify(program)}); console.log(Object.keys(sdk).sort().join());`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(output.trim()).toBe('Lehr,LehrError,isOver,verifyWebhook');
  const help = execFileSync(process.execPath, [join(modules, '@lehr/client', bin.lehr), '--help'], {
    encoding: 'utf8',
  });
  expect(help).toContain('lehr submit');
  // Without the server's programs, the doctor checks the API over HTTP only.
  const doctor = startProgram(join(modules, '@lehr/client', bin.lehr), { LEHR_URL: 'http://127.0.0.1:9' }, [
    'doctor',
  ]);
  await doctor.line(({ msg }) => msg.startsWith('The server is not installed here'));
  expect(await doctor.exited()).toBe(5);
});

test('The published types import only files of the client and modules of Node', async () => {
  const texts = await Promise.all(
    (await readdir(join(CLIENT, 'dist'), { recursive: true }))
      .filter((file) => file.endsWith('.d.ts'))
      .map((file) => readFile(join(CLIENT, 'dist', file), 'utf8')),
  );
  expect(texts.length).toBeGreaterThan(20);
  const named = texts.flatMap((text) => [...text.matchAll(/(?:from|import\()\s*['"]([^'".][^'"]*)['"]/g)]);
  expect(named.map(([, name]) => name).filter((name) => !name.startsWith('node:'))).toEqual([]);
});
