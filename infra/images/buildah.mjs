/** Builds images with buildah, which needs no daemon, and reads what they are made of. Everything is kept in the cache folder. */
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const MAX_OUTPUT = 2 ** 27;

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
  async build(dockerfile, name, base, root) {
    const args = ['bud', '--format', 'docker', '--isolation', 'chroot', '--network', 'host', '--layers'];
    const rest = ['--build-arg', `NODE_IMAGE=${base}`, '--file', dockerfile, '--tag', name, root];
    await promisify(execFile)('buildah', [...this.#store, ...args, ...rest], { maxBuffer: MAX_OUTPUT });
  }

  /** User, variables, commands and health check of an image. */
  config(name) {
    const { Docker } = JSON.parse(this.#run('inspect', '--type', 'image', name));
    return Docker.config;
  }

  /** The layers in order: the instruction, its bytes as a tar file and compressed by zstd. */
  layers(name) {
    const plain = this.#pushed(name, ['--disable-compression']);
    const packed = this.#pushed(name, ['--compression-format', 'zstd']);
    const steps = plain.history.filter(({ empty_layer }) => !empty_layer);
    return steps.map(({ created_by }, index) => ({
      step: created_by ?? 'base image',
      bytes: plain.sizes[index],
      zstdBytes: packed.sizes[index],
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

  #pushed(name, options) {
    const folder = mkdtempSync(join(this.#cache, 'pushed-'));
    try {
      this.#run('push', '--quiet', '--format', 'oci', ...options, name, `oci:${folder}:image`);
      const read = (digest) =>
        JSON.parse(readFileSync(join(folder, 'blobs', digest.replace(':', '/')), 'utf8'));
      const index = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
      const manifest = read(index.manifests[0].digest);
      return {
        sizes: manifest.layers.map(({ size }) => size),
        history: read(manifest.config.digest).history,
      };
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
