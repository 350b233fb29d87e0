/** The files of a release, made from a tree whose version is already written. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../local/command.mjs';

const run = promisify(execFile);

/** The published npm packages, in the order of their publication. */
export const PACKAGES = ['packages/client', 'packages/mcp', 'apps/cli'];

/** What the folder with the installed packages is called. */
const INSTALLED = 'lehr-packages';

/** Packs the published packages, which must be built, into `out`. Returns the files. */
export async function packPackages(tree, out, { repository } = {}) {
  const staged = await mkdtemp(join(tmpdir(), 'lehr-pack-'));
  try {
    const copies = [];
    for (const folder of PACKAGES) {
      const copy = join(staged, folder);
      await cp(join(tree, folder), copy, { recursive: true });
      await cp(join(tree, 'LICENSE'), join(copy, 'LICENSE'));
      if (repository) {
        const manifest = JSON.parse(await readFile(join(copy, 'package.json'), 'utf8'));
        await writeFile(join(copy, 'package.json'), JSON.stringify({ ...manifest, repository }, null, 2));
      }
      copies.push(copy);
    }
    return await pack(copies, out);
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

/** Returns the files in the order of the folders. One command for all of them: npm takes a second to start. */
async function pack(folders, out) {
  await mkdir(out, { recursive: true });
  const args = ['pack', ...folders, '--pack-destination', out, '--json', '--ignore-scripts'];
  const packed = JSON.parse((await run('npm', args, { maxBuffer: 64e6 })).stdout);
  return Object.values(packed).map(({ filename }) => join(out, filename.replace(/^@/, '').replace('/', '-')));
}

/**
 * Installs the packed packages into an empty folder, as a user does. Their dependencies are packed from this tree, so no registry is
 * asked, and none of Lehr's other packages can be found.
 */
export async function installPackages(tree, files, folder) {
  const needed = [...(await dependenciesOf(tree, PACKAGES))].map((name) => join(tree, 'node_modules', name));
  const dependencies = await pack(needed, join(folder, '.packed'));
  const { version } = JSON.parse(await readFile(join(tree, 'package.json'), 'utf8'));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: INSTALLED, version, license: 'MIT' }));
  const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['install', ...quiet, ...dependencies, ...files], { cwd: folder });
}

/** The bill of materials (CycloneDX) of what was installed there. Nothing in it depends on this machine. */
export async function billOf(folder) {
  const bill = JSON.parse((await run('npm', ['sbom', '--sbom-format=cyclonedx'], { cwd: folder })).stdout);
  bill.metadata.component.name = INSTALLED;
  for (const component of bill.components) {
    component.externalReferences = component.externalReferences.filter(({ type }) => type !== 'distribution');
    // Of a module that was packed here, the digest is not that of the registry's file.
    if (!/^pkg:npm\/(%40lehr\/|lehr@)/.test(component.purl)) delete component.hashes;
  }
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** Names of all modules that the packages need, direct and indirect, without the packages themselves. */
async function dependenciesOf(tree, folders) {
  const found = new Set();
  const visit = async (folder) => {
    const { dependencies = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    for (const name of Object.keys(dependencies)) {
      if (found.has(name) || name.startsWith('@lehr/')) continue;
      found.add(name);
      await visit(join(tree, 'node_modules', name));
    }
  };
  for (const folder of folders) await visit(join(tree, folder));
  return found;
}

/** Packages the Helm chart into `out`; undefined where there is no Helm. */
export async function packChart(tree, out) {
  const helm = await findProgram('helm');
  if (!helm) return undefined;
  await run(helm, ['package', join(tree, 'infra/helm/lehr'), '--destination', out]);
  const [name] = await readdir(out);
  return join(out, name);
}

/** Each file below `out` with its digest, sorted by name. */
async function digestsOf(out) {
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const paths = entries.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return Promise.all(
    paths.sort().map(async (path) => ({
      name: relative(out, path),
      sha256: createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    })),
  );
}

/**
 * How the files were made: a statement of in-toto with the provenance of SLSA 1. It is not signed; what publishes a release signs.
 * `SHA256SUMS` then has every file, this one too, for `sha256sum --check`.
 */
export async function writeStatements(out, { version, commit, repository }) {
  const uri = `git+${repository ?? 'https://lehr.invalid/unpublished'}@refs/tags/v${version}`;
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: (await digestsOf(out)).map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://lehr.invalid/npm-run-release/v1',
        externalParameters: { version },
        internalParameters: { node: process.version, platform: `${process.platform}/${process.arch}` },
        resolvedDependencies: [{ uri, digest: { gitCommit: commit } }],
      },
      runDetails: {
        builder: { id: `https://lehr.invalid/${process.env.GITHUB_ACTIONS ? 'github-actions' : 'checkout'}` },
      },
    },
  };
  await writeFile(join(out, 'provenance.intoto.json'), `${JSON.stringify(statement, null, 2)}\n`);
  const sums = (await digestsOf(out)).map(({ name, sha256 }) => `${sha256}  ${name}\n`);
  await writeFile(join(out, 'SHA256SUMS'), sums.join(''));
}
