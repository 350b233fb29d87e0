/** Builds images with buildah, which needs no daemon, and reads what they are made of. Everything is kept in the cache folder. */
import { execFile, execFileSync } from 'node:child_process';
import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';

const MAX_OUTPUT = 2 ** 27;
/** Characters of the output of a failed build. */
const SHOWN = 4000;

export class Images {
  #cache;
  #store;

  constructor(cache) {
    this.#cache = cache;
    this.#store = [
      '--root',
      join(cache, 'store'),
      '--runroot',
      join(cache, 'run'),
      '--storage-driver',
      'overlay',
    ];
  }

  has(name) {
    return this.#run('images', '--format', '{{.Name}}:{{.Tag}}').split('\n').includes(name);
  }

  /** Makes an image of one layer from a folder. */
  import(folder, name, env) {
    const container = this.#run('from', 'scratch').trim();
    try {
      this.#run('copy', '--quiet', container, folder, '/');
      const variables = Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
      this.#run('config', ...variables, container);
      this.#run('commit', '--quiet', container, name);
    } finally {
      this.#run('rm', container);
    }
  }

  /** Runs every step of a Dockerfile, in chroots with this machine's network. Steps that did not change are taken from the cache. */
  async build(dockerfile, name, base, context) {
    const args = ['bud', '--format', 'docker', '--isolation', 'chroot', '--network', 'host', '--layers'];
    const rest = ['--build-arg', `NODE_IMAGE=${base}`, '--file', dockerfile, '--tag', name, context];
    try {
      await promisify(execFile)('buildah', [...this.#store, ...args, ...rest], { maxBuffer: MAX_OUTPUT });
    } catch (error) {
      throw new Error(`${dockerfile} was not built:\n${`${error.stdout}${error.stderr}`.slice(-SHOWN)}`);
    }
  }

  /** User, variables, commands and health check of an image. */
  config(name) {
    const { Docker } = JSON.parse(this.#run('inspect', '--type', 'image', name));
    return Docker.config;
  }

  /** The layers in order: the instruction, its bytes as a tar file, and compressed by gzip and by zstd. */
  async layers(name) {
    const gzip = await this.#pushed(name, 'gzip');
    const zstd = await this.#pushed(name, 'zstd');
    const steps = gzip.history.filter(({ empty_layer }) => !empty_layer);
    return steps.map(({ created_by }, index) => ({
      step: index === 0 ? 'base image' : instruction(created_by),
      bytes: gzip.layers[index].bytes,
      gzipBytes: gzip.layers[index].size,
      zstdBytes: zstd.layers[index].size,
    }));
  }

  /** Mounts the files of an image; `work` gets the folder. The image is not changed by what `work` writes. */
  async mounted(name, work) {
    const container = this.#run('from', name).trim();
    try {
      return await work(this.#run('mount', container).trim());
    } finally {
      this.#run('umount', container);
      this.#run('rm', container);
    }
  }

  async #pushed(name, format) {
    const folder = mkdtempSync(join(this.#cache, 'pushed-'));
    try {
      this.#run(
        'push',
        '--quiet',
        '--format',
        'oci',
        '--compression-format',
        format,
        name,
        `oci:${folder}:image`,
      );
      const blob = (digest) => join(folder, 'blobs', digest.replace(':', '/'));
      const read = (digest) => JSON.parse(readFileSync(blob(digest), 'utf8'));
      const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
      const manifest = read(index.manifests[0].digest);
      const layers = [];
      for (const { size, digest } of manifest.layers)
        layers.push({ size, bytes: format === 'gzip' ? await unpackedBytes(blob(digest)) : undefined });
      return { layers, history: read(manifest.config.digest).history };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  #run(...args) {
    const stdio = ['ignore', 'pipe', 'inherit'];
    return execFileSync('buildah', [...this.#store, ...args], {
      encoding: 'utf8',
      maxBuffer: MAX_OUTPUT,
      stdio,
    });
  }
}

/** The bytes that a file has without gzip. */
async function unpackedBytes(path) {
  let bytes = 0;
  await pipeline(createReadStream(path), createGunzip(), async (chunks) => {
    for await (const chunk of chunks) bytes += chunk.length;
  });
  return bytes;
}

/** As in the Dockerfile, as far as buildah keeps it. */
function instruction(step) {
  const text = step
    .replace(/^\/bin\/sh -c (?:#\(nop\) )?/, '')
    .replaceAll(/(?:dir|file|multi):[0-9a-f]{64} in /g, '');
  return text.startsWith('COPY') ? text.trim() : `RUN ${text.trim()}`;
}
