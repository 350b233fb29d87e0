/** The version in every file that has it. Folders are those of the tree that is changed, which need not be this one. */
import { existsSync, readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const VERSION = /^(\d+)\.(\d+)\.(\d+)$/;
/** Texts that name the version once. */
const CODE = ['packages/shared/src/base/version.ts', 'infra/docker/docker-bake.hcl'];

/** `wanted` is a version above the current one, or `major`, `minor` or `patch`. Throws for anything else. */
export function nextVersion(current, wanted) {
  const [major, minor, patch] = numbersOf(current);
  const steps = {
    major: [major + 1, 0, 0],
    minor: [major, minor + 1, 0],
    patch: [major, minor, patch + 1],
  };
  const next = steps[wanted] ?? numbersOf(wanted);
  if (compare(next, [major, minor, patch]) <= 0)
    throw new Error(`the version is ${current}, so the next one cannot be ${wanted}`);
  return next.join('.');
}

function numbersOf(text) {
  const match = VERSION.exec(text);
  if (!match)
    throw new Error(`${JSON.stringify(text)} is not a version: wanted major, minor, patch or x.y.z`);
  return match.slice(1).map(Number);
}

function compare(a, b) {
  const i = a.findIndex((number, place) => number !== b[place]);
  return i < 0 ? 0 : a[i] - b[i];
}

export const versionOf = async (root) => (await manifestOf(root, '.')).version;

const manifestOf = async (root, folder) =>
  JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));

/** The folders of the root and of all packages. */
export const packageFolders = (root) =>
  [
    '.',
    'infra/aws',
    ...['apps', 'packages'].flatMap((parent) =>
      readdirSync(join(root, parent)).map((name) => `${parent}/${name}`),
    ),
  ].filter((folder) => existsSync(join(root, folder, 'package.json')));

/** Writes the version into the packages, their references to each other, the lock file and the code. */
export async function writeVersion(root, version) {
  const folders = packageFolders(root);
  for (const folder of folders) {
    const manifest = await manifestOf(root, folder);
    await writeJson(join(root, folder, 'package.json'), raised(manifest, version));
  }
  const lockFile = join(root, 'package-lock.json');
  const lock = JSON.parse(await readFile(lockFile, 'utf8'));
  lock.version = version;
  for (const folder of folders) {
    const entry = folder === '.' ? '' : folder;
    if (lock.packages[entry]) lock.packages[entry] = raised(lock.packages[entry], version);
  }
  await writeJson(lockFile, lock);
  const ownLock = join(root, 'infra/aws/package-lock.json');
  if (existsSync(ownLock)) {
    const aws = JSON.parse(await readFile(ownLock, 'utf8'));
    aws.version = version;
    aws.packages[''].version = version;
    await writeJson(ownLock, aws);
  }
  for (const file of CODE) {
    const text = await readFile(join(root, file), 'utf8');
    await writeFile(join(root, file), text.replace(/(['"])\d+\.\d+\.\d+\1/, `$1${version}$1`));
  }
}

function raised(manifest, version) {
  const next = { ...manifest, version };
  for (const kind of ['dependencies', 'devDependencies', 'peerDependencies']) {
    if (!next[kind]) continue;
    next[kind] = Object.fromEntries(
      Object.entries(next[kind]).map(([name, range]) => [name, name.startsWith('@lehr/') ? version : range]),
    );
  }
  return next;
}

const writeJson = (path, value) => writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
