/**
 * npm run release -- minor [--dry-run] [--out FOLDER] [--registry NAME]: the version, the changelog and the packages of a release.
 *
 * Everything is made in a copy of the last commit. Without --dry-run the changed files are then committed and tagged here; nothing
 * is pushed or published. .github/workflows/release.yml does that from the tag.
 */
import '../local/node-version.mjs';
import { execFile } from 'node:child_process';
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ROOT } from '../local/command.mjs';
import { imagesOf, packChart, packClient, tryClient } from './artifacts.mjs';
import { sectionOf, withSection } from './changelog.mjs';
import { nextVersion, versionOf, writeVersion } from './versions.mjs';

const run = promisify(execFile);
const git = async (args, cwd = ROOT) => (await run('git', args, { cwd, maxBuffer: 64e6 })).stdout.trim();

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'dry-run': { type: 'boolean', default: false },
      out: { type: 'string' },
      registry: { type: 'string', default: 'ghcr.io/example' },
    },
  });
  const isDry = values['dry-run'];
  if (!isDry && (await git(['status', '--porcelain'])) !== '') {
    throw new Error('there are changes that are not committed: commit or remove them first');
  }
  const version = nextVersion(await versionOf(ROOT), positionals[0] ?? 'patch');
  const tag = `v${version}`;
  if ((await git(['tag', '--list', tag])) !== '') throw new Error(`the tag ${tag} exists`);
  const tree = await mkdtemp(join(tmpdir(), 'lehr-release-'));
  try {
    await copyOfHead(tree);
    await writeVersion(tree, version);
    await addToChangelog(tree, version);
    await run('node', ['--conditions=lehr-source', 'infra/local/docs.mjs'], { cwd: tree });
    const out = resolve(values.out ?? join(tree, 'out'));
    await mkdir(out, { recursive: true });
    const client = await packClient(tree, out);
    const exported = await tryClient(tree, client);
    const chart = await packChart(tree, out);
    const release = {
      version,
      tag,
      commit: await git(['rev-parse', 'HEAD']),
      client: { file: client, exports: exported },
      chart: chart ?? null,
      images: imagesOf(values.registry, version),
      changed: (await git(['diff', '--name-only', 'HEAD'], tree)).split('\n'),
    };
    await writeFile(join(out, 'release.json'), `${JSON.stringify(release, null, 2)}\n`);
    console.log(JSON.stringify(release, null, 2));
    if (!chart) console.log('helm is not on the PATH: the chart was not packaged.');
    if (isDry) return console.log('Dry run: nothing here was changed.');
    for (const file of release.changed) await cp(join(tree, file), join(ROOT, file));
    await git(['add', '--', ...release.changed]);
    await git(['commit', '-m', `release: ${version}`]);
    await git(['tag', '-a', tag, '-m', `Lehr ${version}`]);
    console.log(`Committed and tagged ${tag}. Push both to publish: git push --follow-tags`);
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

/** A clone of the last commit. Its modules are those of this tree, but its own packages are its own. */
async function copyOfHead(tree) {
  await git(['clone', '--quiet', '--shared', ROOT, tree]);
  await mkdir(join(tree, 'node_modules/@lehr'), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    const from = join(ROOT, 'node_modules', name);
    if (name !== '@lehr' && name !== '.cache') await symlink(from, join(tree, 'node_modules', name));
  }
  for (const parent of ['apps', 'packages']) {
    for (const name of await readdir(join(tree, parent))) {
      await symlink(join(tree, parent, name), join(tree, 'node_modules/@lehr', name));
      const own = join(ROOT, parent, name, 'node_modules');
      if (await lstat(own).catch(() => undefined))
        await symlink(own, join(tree, parent, name, 'node_modules'));
    }
  }
}

async function addToChangelog(tree, version) {
  const last = await git(['describe', '--tags', '--abbrev=0', '--match', 'v*']).catch(() => undefined);
  const subjects = await git(['log', '--no-merges', '--format=%s', ...(last ? [`${last}..HEAD`] : [])]);
  const file = join(tree, 'CHANGELOG.md');
  const section = sectionOf(
    version,
    new Date().toISOString().slice(0, 10),
    subjects.split('\n').filter(Boolean),
  );
  await writeFile(file, withSection(await readFile(file, 'utf8'), version, section));
}

await main().catch((error) => {
  process.stderr.write(`release: ${error.stderr || error.message}\n`);
  process.exitCode = 1;
});
