/**
 * npm run release -- [minor] [--dry-run] [--out FOLDER]: the version, the changelog and the files of a release.
 *
 * Everything is made in a copy of the last commit. Without --dry-run the changed files are then committed and tagged here; nothing
 * is pushed or published. .github/workflows/release.yml does that from the tag, where publishing.json says.
 */
import '../local/node-version.mjs';
import { execFile } from 'node:child_process';
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ROOT } from '../local/command.mjs';
import { billOf, installPackages, PACKAGES, packChart, packPackages, writeStatements } from './artifacts.mjs';
import { notesOf, withVersion } from './changelog.mjs';
import { nextVersion, versionOf, writeVersion } from './versions.mjs';

const run = promisify(execFile);
const git = async (args, cwd = ROOT) => (await run('git', args, { cwd, maxBuffer: 64e6 })).stdout.trim();

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false }, out: { type: 'string' } },
  });
  const isDry = values['dry-run'];
  if (!isDry && (await git(['status', '--porcelain'])) !== '') {
    throw new Error('there are changes that are not committed: commit or remove them first');
  }
  const { version, isTagged } = await versionToRelease(positionals[0]);
  const publishing = JSON.parse(await readFile(join(ROOT, 'infra/release/publishing.json'), 'utf8'));
  const tree = await mkdtemp(join(tmpdir(), 'lehr-release-'));
  try {
    await copyOfHead(tree);
    if (!isTagged) await nameVersion(tree, version);
    const out = resolve(values.out ?? 'release');
    const { packages, chart } = await makeFiles(tree, out, publishing);
    const notes = notesOf(await readFile(join(tree, 'CHANGELOG.md'), 'utf8'), version);
    await writeFile(join(out, 'notes.md'), `${notes}\n`);
    const isNew = !isDry && !isTagged;
    if (isNew) await commitAndTag(tree, version);
    // The files are made from what this commit has, so it comes before.
    const commit = await git(['rev-parse', 'HEAD']);
    await writeStatements(out, { version, commit, repository: publishing.repository });
    const script = publishingScript({ version, commit, packages, chart }, publishing);
    await writeFile(join(out, 'publish.sh'), script);
    console.log(
      `Lehr ${version} is in ${out}:\n${await readFile(join(out, 'SHA256SUMS'), 'utf8')}\n${script}`,
    );
    if (!chart) console.log('helm is not on the PATH: the chart was not packaged.');
    console.log(
      isNew
        ? `Committed and tagged v${version}. Push both to publish: git push --follow-tags`
        : 'Nothing here was changed.',
    );
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

/**
 * Without a wish: the version that the code has, when no other commit has its tag, else the next patch. `isTagged`: this commit has the
 * tag already, so only the files are made.
 */
async function versionToRelease(wanted) {
  const current = await versionOf(ROOT);
  const isHere = (await git(['tag', '--points-at', 'HEAD'])).split('\n').includes(`v${current}`);
  const exists = async (version) => (await git(['tag', '--list', `v${version}`])) !== '';
  const isCurrent = isHere || !(await exists(current));
  if (isCurrent && (wanted ?? current) === current) return { version: current, isTagged: isHere };
  const version = nextVersion(current, wanted ?? 'patch');
  if (await exists(version)) throw new Error(`the tag v${version} exists`);
  return { version, isTagged: false };
}

/** Writes the version into the code, the changelog and what is made from them. */
async function nameVersion(tree, version) {
  await writeVersion(tree, version);
  const file = join(tree, 'CHANGELOG.md');
  const date = new Date().toISOString().slice(0, 10);
  await writeFile(file, withVersion(await readFile(file, 'utf8'), version, date));
  await run('node', ['--conditions=lehr-source', 'infra/local/docs.mjs'], { cwd: tree });
}

/** Takes the changes of the tree over into this checkout. */
async function commitAndTag(tree, version) {
  const changed = (await git(['diff', '--name-only', 'HEAD'], tree)).split('\n').filter(Boolean);
  for (const file of changed) await cp(join(tree, file), join(ROOT, file));
  await git(['add', '--', ...changed]);
  await git(['commit', '-m', `release: ${version}`]);
  await git(['tag', '-a', `v${version}`, '-m', `Lehr ${version}`]);
}

/** The packages, tried in an empty folder, the bill of materials of what was installed there, and the chart. */
async function makeFiles(tree, out, publishing) {
  // A file of an earlier run would be listed as one of this release.
  if ((await readdir(out).catch(() => [])).length > 0) throw new Error(`${out} is not empty`);
  await mkdir(join(out, 'chart'), { recursive: true });
  const typescript = join(tree, 'node_modules/typescript/bin/tsc');
  // Without a check, which would want the build of every package; CI has checked the types.
  for (const folder of PACKAGES) {
    await run(process.execPath, [typescript, '-p', folder, '--noCheck'], { cwd: tree });
  }
  const packages = await packPackages(tree, join(out, 'npm'), publishing);
  const empty = await mkdtemp(join(tmpdir(), 'lehr-installed-'));
  try {
    await installPackages(tree, packages, empty);
    await run(join(empty, 'node_modules/.bin/lehr'), ['--help'], { cwd: empty });
    await writeFile(join(out, 'npm/sbom.cdx.json'), await billOf(empty));
  } finally {
    await rm(empty, { recursive: true, force: true });
  }
  return { packages, chart: await packChart(tree, join(out, 'chart')) };
}

/** Publishes what publishing.json has an address for. Without one for the images it builds them on this machine. */
function publishingScript({ version, commit, packages, chart }, { npm, images, charts }) {
  const bake = `VERSION=${version} COMMIT=${commit} docker buildx bake -f infra/docker/docker-bake.hcl`;
  return [
    '# Run this in the commit of the release.',
    'set -eu',
    images ? `REGISTRY=${images} ${bake} --push --provenance=mode=max` : bake,
    ...(npm ? packages.map((file) => `npm publish ${file} --access public --registry ${npm}`) : []),
    ...(charts && chart ? [`helm push ${chart} ${charts}`] : []),
    '',
  ].join('\n');
}

/** A clone of the last commit. Its modules are those of this tree, but its own packages are its own. */
async function copyOfHead(tree) {
  await git(['clone', '--quiet', '--shared', ROOT, tree]);
  await mkdir(join(tree, 'node_modules/@lehr'), { recursive: true });
  for (const name of await readdir(join(ROOT, 'node_modules'))) {
    const from = join(ROOT, 'node_modules', name);
    if (!['@lehr', 'lehr', '.cache'].includes(name)) await symlink(from, join(tree, 'node_modules', name));
  }
  for (const parent of ['apps', 'packages']) {
    for (const name of await readdir(join(tree, parent))) {
      const { name: packageName } = JSON.parse(
        await readFile(join(tree, parent, name, 'package.json'), 'utf8'),
      );
      await symlink(join(tree, parent, name), join(tree, 'node_modules', packageName));
      const own = join(ROOT, parent, name, 'node_modules');
      if (await lstat(own).catch(() => undefined))
        await symlink(own, join(tree, parent, name, 'node_modules'));
    }
  }
}

await main().catch((error) => {
  process.stderr.write(`release: ${error.stderr || error.message}\n`);
  process.exitCode = 1;
});
