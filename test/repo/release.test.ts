/** npm run release: its dry run changes nothing here, and what it writes is whole. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';
import { blocksOf, ROOT, readText } from './readme.ts';

const run = promisify(execFile);
const module = <Type>(name: string): Promise<Type> =>
  import(new URL(`../../infra/release/${name}.mjs`, import.meta.url).href);

const gitState = async (): Promise<string> => {
  const answers = [
    ['rev-parse', 'HEAD'],
    ['status', '--porcelain'],
    ['diff', 'HEAD'],
    ['tag', '--list'],
  ].map((args) => run('git', args, { cwd: ROOT, maxBuffer: 64e6 }));
  return (await Promise.all(answers)).map(({ stdout }) => stdout).join('\n');
};

test('A dry run of the release changes nothing here, and writes packages, bills, provenance and checksums', {
  tags: ['long'],
}, async () => {
  const before = await gitState();
  const out = join(await tempFolder('release'), 'out');
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  const wanted = `${Number(version.split('.')[0]) + 1}.0.0`;
  const [{ text }] = blocksOf(readText('docs/client.md')).filter(({ label }) => label === 'pack');
  const command = text.replace('--out release', `--out ${out} major`);
  const { stdout } = await run('sh', ['-eu', '-c', command], { cwd: ROOT });
  expect(stdout).toContain('Nothing here was changed.');
  expect(stdout).toContain(`VERSION=${wanted} COMMIT=`);
  expect(await gitState()).toBe(before);

  const files = (await readdir(out, { recursive: true })).map((name) => basename(name));
  expect(files).toEqual(
    expect.arrayContaining([`lehr-client-${wanted}.tgz`, `lehr-${wanted}.tgz`, 'publish.sh']),
  );
  const bill = await readFile(join(out, 'npm/sbom.cdx.json'), 'utf8');
  expect(bill).not.toMatch(/file:|lehr-installed/);
  const { components, metadata } = JSON.parse(bill);
  expect(metadata.component).toMatchObject({ name: 'lehr-packages', version: wanted });
  const listed = components.map(({ name, version }: Record<string, string>) => `${name}@${version}`);
  expect(listed).toEqual(
    expect.arrayContaining([`lehr@${wanted}`, expect.stringMatching(/^standardwebhooks@/)]),
  );
  await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out });
  const { subject, predicate } = JSON.parse(await readFile(join(out, 'provenance.intoto.json'), 'utf8'));
  expect(subject.map(({ name }: { name: string }) => name)).toContain(`npm/lehr-${wanted}.tgz`);
  const [{ digest }] = predicate.buildDefinition.resolvedDependencies;
  expect(digest.gitCommit).toMatch(/^[0-9a-f]{40}$/);
  expect(URL.canParse(predicate.runDetails.builder.id)).toBe(true);
  const manifest = await run('tar', ['-xzOf', join(out, `npm/lehr-${wanted}.tgz`), 'package/package.json']);
  expect(JSON.parse(manifest.stdout)).toMatchObject({
    version: wanted,
    dependencies: { '@lehr/client': wanted },
  });
  expect(await readFile(join(out, 'notes.md'), 'utf8')).not.toContain('## ');
  // Its file has the name of the command's.
  expect(stdout.includes('helm is not on the PATH')).toBe(!existsSync(join(out, `chart/lehr-${wanted}.tgz`)));
});

test('A release refuses a version that is not above the current one', async () => {
  const { nextVersion } = await module<{ nextVersion(current: string, wanted: string): string }>('versions');
  expect(nextVersion('1.9.3', 'minor')).toBe('1.10.0');
  expect(nextVersion('1.9.3', '2.0.0')).toBe('2.0.0');
  for (const wanted of ['1.9.3', '1.9.2', '1.8.9', 'next', '2.0']) {
    expect(() => nextVersion('1.9.3', wanted), wanted).toThrow(/cannot be|is not a version/);
  }
});

test('A release names what is unreleased in the changelog, and refuses one that says nothing', async () => {
  const { withVersion, notesOf } = await module<{
    withVersion(changelog: string, version: string, date: string): string;
    notesOf(changelog: string, version: string): string;
  }>('changelog');
  const before = '# Changelog\n\nWords.\n\n## Unreleased\n\n- New.\n\n## 1.0.0 - 2026-11-01\n\n- Old.\n';
  const after = withVersion(before, '1.1.0', '2026-11-23');
  expect(after).toBe(before.replace('## Unreleased', '## 1.1.0 - 2026-11-23'));
  expect(notesOf(after, '1.1.0')).toBe('- New.');
  expect(() => withVersion(before, '1.0.0', '2026-11-23')).toThrow('already has 1.0.0');
  expect(() => withVersion(after, '1.2.0', '2026-11-24')).toThrow('nothing under "## Unreleased"');
  expect(() => withVersion(before.replace('- New.\n', ''), '1.2.0', '2026-11-24')).toThrow('nothing under');
});

test('Every package, reference and line of code has the version of the root', async () => {
  const { packageFolders } = await module<{ packageFolders(root: string): string[] }>('versions');
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  for (const folder of packageFolders(ROOT)) {
    const manifest = JSON.parse(readText(`${folder}/package.json`)) as Record<string, unknown>;
    expect(manifest.version, folder).toBe(version);
    const dependencies = Object.entries((manifest.dependencies ?? {}) as Record<string, string>);
    for (const [name, range] of dependencies) if (name.startsWith('@lehr/')) expect(range).toBe(version);
  }
});

test('SECURITY.md is linked where people look, and leads to pages that exist', () => {
  const text = readText('SECURITY.md');
  for (const [, target] of text.matchAll(/\]\(([^)#]+)/g))
    expect(existsSync(join(ROOT, target)), target).toBe(true);
  expect(readText('docs/security.md')).toContain('../SECURITY.md');
});
