/** npm run release: its dry run changes nothing here, and what it packs works. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../apps/api/src/listen.ts';
import { API_KEY, apiWorld } from '../support/api-world.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { ROOT, readText } from './readme.ts';

const run = promisify(execFile);
const module = <Type>(name: string): Promise<Type> =>
  import(new URL(`../../infra/release/${name}.mjs`, import.meta.url).href);

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

const gitState = async (): Promise<string> => {
  const answers = [
    ['rev-parse', 'HEAD'],
    ['status', '--porcelain'],
    ['diff', 'HEAD'],
    ['tag', '--list'],
  ].map((args) => run('git', args, { cwd: ROOT, maxBuffer: 64e6 }));
  return (await Promise.all(answers)).map(({ stdout }) => stdout).join('\n');
};

interface Release {
  readonly version: string;
  readonly client: { readonly file: string; readonly exports: readonly string[] };
  readonly chart: string | null;
  readonly images: readonly { readonly image: string }[];
  readonly changed: readonly string[];
}

test('A dry run of the release changes nothing here, and its client draws at a real API from a clean folder', {
  timeout: 240_000,
}, async () => {
  const before = await gitState();
  const out = await tempFolder('release');
  const { version } = JSON.parse(readText('package.json')) as { version: string };
  const wanted = version.replace(/^\d+/, (major) => String(Number(major) + 1)).replace(/\.\d+\.\d+$/, '.0.0');
  const args = ['run', 'release', '--', 'major', '--dry-run', '--out', out, '--registry', 'registry.test'];
  expect((await run('npm', args, { cwd: ROOT })).stdout).toContain('Dry run: nothing here was changed.');
  expect(await gitState()).toBe(before);

  const release = JSON.parse(await readFile(join(out, 'release.json'), 'utf8')) as Release;
  expect(release).toMatchObject({
    version: wanted,
    client: { exports: ['Lehr', 'LehrError', 'isOver', 'verifyWebhook'] },
  });
  expect(release.images.map(({ image }) => image)).toContain(`registry.test/lehr-api:${wanted}`);
  expect(release.changed).toEqual(
    expect.arrayContaining(['CHANGELOG.md', 'package-lock.json', 'infra/helm/lehr/Chart.yaml']),
  );
  if (release.chart !== null) expect(existsSync(release.chart)).toBe(true);

  const { installClient } = await module<{
    installClient(tree: string, file: string, folder: string): Promise<void>;
  }>('artifacts');
  const folder = await tempFolder('clean');
  await installClient(ROOT, release.client.file, folder);
  const world = await apiWorld(server.url);
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(0));
  listener.serve(world.app.fetch);
  const script = `
    import { Lehr } from '@lehr/client';
    const lehr = new Lehr({ url: process.env.LEHR_URL, apiKey: process.env.LEHR_API_KEY });
    const job = await lehr.submit({ type: 'text-to-image', input: { prompt: 'a red circle' } });
    console.log((await lehr.get(job.id)).status);`;
  const env = {
    PATH: process.env.PATH,
    LEHR_URL: `http://127.0.0.1:${listener.port}`,
    LEHR_API_KEY: API_KEY,
  };
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder, env });
  expect(stdout).toBe('queued\n');
});

test('A release refuses a version that is not above the current one', async () => {
  const { nextVersion } = await module<{ nextVersion(current: string, wanted: string): string }>('versions');
  expect(nextVersion('1.9.3', 'minor')).toBe('1.10.0');
  expect(nextVersion('1.9.3', '2.0.0')).toBe('2.0.0');
  for (const wanted of ['1.9.3', '1.9.2', '1.8.9', 'next', '2.0']) {
    expect(() => nextVersion('1.9.3', wanted), wanted).toThrow(/cannot be|is not a version/);
  }
});

test('The changelog lists subjects by area without those of tests, the newest version first', async () => {
  const { sectionOf, withSection } = await module<{
    sectionOf(version: string, date: string, subjects: readonly string[]): string;
    withSection(changelog: string, version: string, section: string): string;
  }>('changelog');
  const subjects = ['queue: keep <order>', 'test: wait for an event', 'api: answer sooner', 'No area here'];
  const section = sectionOf('1.1.0', '2026-11-23', subjects);
  expect(section).toBe(
    '## 1.1.0 - 2026-11-23\n\n### api\n\n- answer sooner\n\n### queue\n\n- keep \\<order\\>\n\n### other\n\n- No area here\n',
  );
  const changelog = withSection('# Changelog\n\nWords.\n\n## 1.0.0 - 2026-11-01\n', '1.1.0', section);
  expect(changelog.indexOf('## 1.1.0')).toBeLessThan(changelog.indexOf('## 1.0.0'));
  expect(() => withSection(changelog, '1.1.0', section)).toThrow('already has 1.1.0');
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
