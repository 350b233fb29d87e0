/** What a release consists of, made from a tree whose version is already written. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../local/command.mjs';

const run = promisify(execFile);

const IMAGES = ['lehr-api', 'lehr-worker-cpu', 'lehr-worker-cuda'];

/** Builds and packs the client into `out`. Returns the file. */
export async function packClient(tree, out) {
  const typescript = join(tree, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [typescript, '-p', 'packages/client/tsconfig.json'], { cwd: tree });
  return pack(join(tree, 'packages/client'), out);
}

async function pack(folder, out) {
  await mkdir(out, { recursive: true });
  const { stdout } = await run('npm', [
    'pack',
    folder,
    '--pack-destination',
    out,
    '--json',
    '--ignore-scripts',
  ]);
  const packed = JSON.parse(stdout);
  const [{ filename }] = Array.isArray(packed) ? packed : Object.values(packed);
  return join(out, filename.replace(/^@/, '').replace('/', '-'));
}

/**
 * Installs the packed client into an empty folder, as a user does, and loads it there. Its dependencies are packed from this tree, so
 * no registry is asked. Returns what the module exports.
 */
export async function tryClient(tree, file) {
  const folder = await mkdtemp(join(tmpdir(), 'lehr-client-'));
  try {
    await installClient(tree, file, folder);
    const script = "console.log(Object.keys(await import('@lehr/client')).sort().join())";
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder });
    await run(join(folder, 'node_modules/.bin/lehr'), ['--help'], { cwd: folder });
    return stdout.trim().split(',');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Installs the packed client and its dependencies into this folder. */
export async function installClient(tree, file, folder) {
  const modules = await dependenciesOf(tree, 'packages/client');
  const files = [];
  for (const name of modules)
    files.push(await pack(join(tree, 'node_modules', name), join(folder, '.packed')));
  const quiet = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['init', '-y'], { cwd: folder });
  await run('npm', ['install', ...quiet, ...files, file], { cwd: folder });
}

/** Names of all modules that a package needs, direct and indirect. */
async function dependenciesOf(tree, start) {
  const found = new Set();
  const visit = async (folder) => {
    const { dependencies = {} } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    for (const name of Object.keys(dependencies)) {
      if (found.has(name)) continue;
      found.add(name);
      await visit(join(tree, 'node_modules', name));
    }
  };
  await visit(join(tree, start));
  return found;
}

/** Packages the Helm chart into `out`; undefined where there is no Helm. */
export async function packChart(tree, out) {
  const helm = await findProgram('helm');
  if (!helm) return undefined;
  await run(helm, ['package', join(tree, 'infra/helm/lehr'), '--destination', out]);
  const name = (await readdir(out)).find((each) => /^lehr-\d.*\.tgz$/.test(each));
  return name && join(out, name);
}

/** Each image with its tag, and the name of its software bill of materials. */
export const imagesOf = (registry, version) =>
  IMAGES.map((name) => ({ image: `${registry}/${name}:${version}`, sbom: `${name}-${version}.sbom.json` }));
