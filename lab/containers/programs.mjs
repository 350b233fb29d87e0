/** The programs of the lab: the engine and two more builders from Debian, and from Go modules what Debian lacks or has too old. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall } from '../../infra/local/apt.mjs';
import { findProgram, runCommand } from '../../infra/local/command.mjs';
import { Problem } from '../../infra/local/problem.mjs';
import { ENGINE_ENV, HOME } from './engine.mjs';

const GO = join(HOME, 'go');
const BIN = join(HOME, 'bin');
const CACHES = {
  GOMODCACHE: join(GO, 'mod'),
  GOCACHE: join(GO, 'cache'),
  CGO_ENABLED: '0',
  GOFLAGS: '-mod=mod',
};
/** By Debian's package. */
const PROGRAMS = {
  'docker.io': 'dockerd',
  debootstrap: 'debootstrap',
  podman: 'podman',
  iproute2: 'ip',
  iptables: 'iptables',
  chromium: 'chromium',
};
const COMPOSE = {
  module: 'github.com/docker/compose/v2',
  version: 'v2.40.3',
  package: 'cmd',
  flags: '-X github.com/docker/compose/v2/internal.Version=v2.40.3',
};
/** 4.53: the module of 4.47, which compose.yaml names, is not served. */
export const SEAWEEDFS = {
  module: 'github.com/seaweedfs/seaweedfs',
  version: 'v0.0.0-20261109003541-7506e5f91cd6',
  package: 'weed',
};
/** 3.16. */
const PROMETHEUS = {
  module: 'github.com/prometheus/prometheus',
  version: 'v0.316.0',
  package: 'cmd/prometheus',
};

export const program = (name) => join(BIN, name);
export const moduleFolder = ({ module, version }) => join(CACHES.GOMODCACHE, `${module}@${version}`);

export async function ensurePrograms({ say, signal }) {
  const lacking = [];
  for (const [name, file] of Object.entries(PROGRAMS)) if (!(await findProgram(file))) lacking.push(name);
  if (lacking.length > 0 && !(await aptInstall(lacking, { say, signal })))
    throw new Problem(`apt-get cannot install ${lacking.join(', ')}.`);
  if (!(await findProgram('go')))
    throw new Problem('The lab needs Go 1.24 or newer, to build Docker Compose and SeaweedFS.');
  // Where Docker looks for its plugins.
  await build(join(ENGINE_ENV.DOCKER_CONFIG, 'cli-plugins/docker-compose'), COMPOSE, { say, signal });
  await build(program('weed'), SEAWEEDFS, { say, signal });
  await build(program('prometheus'), PROMETHEUS, { say, signal });
}

async function build(target, { module, version, package: name, flags = '' }, { say, signal }) {
  if (existsSync(target)) return;
  say(`Building ${module} ${version} with Go; this takes many minutes, once.`);
  const folder = join(GO, module.replaceAll('/', '_'));
  mkdirSync(folder, { recursive: true });
  const go = async (...args) => {
    const code = await runCommand('nice', ['go', '-C', folder, ...args], {
      signal,
      quiet: true,
      env: CACHES,
    });
    if (code !== 0) throw new Problem(`go ${args[0]} of ${module} failed; its output is above.`);
  };
  if (!existsSync(join(folder, 'go.mod'))) await go('mod', 'init', 'lab');
  await go('get', `${module}@${version}`);
  await go('build', '-trimpath', `-ldflags=-s -w ${flags}`, '-o', target, `${module}/${name}`);
}
