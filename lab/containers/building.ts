/** The images: built by every builder, their layers, and what can be seen of the CUDA image without a card. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compose, docker, inspected, ROOT, run } from './compose.ts';
import { WORK } from './results.ts';

const IMAGES = ['api', 'worker-cpu'];
const NODE_IMAGE = 'node:24-bookworm-slim';
const PODMAN = [
  '--root',
  join(WORK, 'podman'),
  '--runroot',
  join(WORK, 'podman-run'),
  '--storage-driver',
  'overlay',
];

/** Builds each image and says how many seconds it took. */
async function timed(names: readonly string[], build: (name: string) => Promise<unknown>): Promise<string> {
  const seen: string[] = [];
  for (const name of names) {
    const began = performance.now();
    await build(name);
    seen.push(`lehr-${name} in ${Math.round((performance.now() - began) / 1000)} s`);
  }
  return seen.join(', ');
}

export const byCompose = (): Promise<string> => timed(IMAGES, (name) => compose('build', name));

/** Debian's docker build: its BuildKit, or the classic builder. */
export const byDocker = (buildKit: '0' | '1') => (): Promise<string> =>
  timed(IMAGES, (name) =>
    run(
      '/usr/bin/docker',
      ['build', '--file', `infra/docker/${name}.Dockerfile`, '--tag', `lab-${name}:${buildKit}`, ROOT],
      {
        DOCKER_BUILDKIT: buildKit,
      },
    ),
  );

/** In chroots, because podman's crun does not start on the mixed control groups of this kind of machine. */
export async function byPodman(): Promise<string> {
  const archive = join(WORK, 'base.tar');
  await docker('save', '--output', archive, NODE_IMAGE);
  await run('podman', [...PODMAN, 'load', '--input', archive]);
  rmSync(archive);
  const options = [
    '--isolation',
    'chroot',
    '--network',
    'host',
    '--layers',
    '--format',
    'docker',
    '--pull=never',
  ];
  return timed(IMAGES, (name) =>
    run('podman', [
      ...PODMAN,
      'build',
      ...options,
      '--build-arg',
      `NODE_IMAGE=localhost/${NODE_IMAGE}`,
      '--file',
      `infra/docker/${name}.Dockerfile`,
      '--tag',
      `lab-${name}`,
      ROOT,
    ]),
  );
}

/** Opens a graph on CUDA. The stub stands for the driver, which has no card: ONNX Runtime gets as far as asking for one. */
const OPEN = `import('/lehr/node_modules/onnxruntime-node/dist/index.js').then(({ InferenceSession }) =>
  InferenceSession.create('/lehr/packages/demo-models/models/demo-diffusion/vae_decoder/model.onnx', { executionProviders: ['cuda'] }))
  .then(() => console.log('opened'), ({ message }) => console.log(message))`;

export async function cuda(): Promise<string> {
  const built = await timed(['worker-cuda'], () => compose('--profile', 'gpu', 'build', 'worker-cuda'));
  const folder = mkdtempSync(join(tmpdir(), 'lehr-libcuda-'));
  try {
    const stub = await libcuda(folder);
    const without = await opened([]);
    if (!without.includes('libcuda.so.1')) throw new Error(`without a driver ONNX Runtime says: ${without}`);
    const withStub = await opened(['--volume', `${stub}:/usr/lib/x86_64-linux-gnu/libcuda.so.1:ro`]);
    if (withStub.includes('Failed to load')) throw new Error(`with a stub: ${withStub}`);
    return `${built}; without libcuda.so.1 the provider does not load; with a stub of it: ${/CUDA failure[^;]*/.exec(withStub)?.[0]}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A library with the functions of the driver that the provider names. Each one answers CUDA_ERROR_NO_DEVICE. */
async function libcuda(folder: string): Promise<string> {
  const container = (await docker('create', 'lehr-worker-cuda')).trim();
  const provider =
    '/lehr/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime_providers_cuda.so';
  await docker('cp', `${container}:${provider}`, folder);
  await docker('rm', container);
  const symbols = await run('nm', [
    '-D',
    '--undefined-only',
    join(folder, 'libonnxruntime_providers_cuda.so'),
  ]);
  const functions = [...symbols.matchAll(/ U (cu[A-Z]\w+)$/gm)].map(
    ([, name]) => `int ${name}(void) { return 100; }`,
  );
  writeFileSync(join(folder, 'stub.c'), functions.join('\n'));
  const stub = join(folder, 'libcuda.so.1');
  await run('gcc', ['-shared', '-fPIC', '-Wl,-soname,libcuda.so.1', '-o', stub, join(folder, 'stub.c')]);
  return stub;
}

/** What ONNX Runtime prints, without line breaks. */
async function opened(options: readonly string[]): Promise<string> {
  const shell = ['sh', '-c', 'node -e "$0" 2>&1', OPEN];
  return (await docker('run', '--rm', '--read-only', ...options, 'lehr-worker-cuda', ...shell)).replaceAll(
    /\s+/g,
    ' ',
  );
}

export interface Image {
  readonly name: string;
  readonly bytes: number;
  /** The last one first, those of the base together. */
  readonly layers: readonly { readonly step: string; readonly size: string }[];
}

export async function imagesOf(names: readonly string[]): Promise<Image[]> {
  const images: Image[] = [];
  for (const name of names) {
    const bytes = Number(await inspected(name, '{{.Size}}'));
    const history = await docker('history', '--no-trunc', '--format', '{{.Size}}\t{{.CreatedBy}}', name);
    // The first layer, which was imported, has no step.
    const rows = history
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t'));
    const layers = rows
      .filter(([size]) => size !== '0B')
      .map(([size, step]) => ({ size, step: instruction(step) || 'imported' }));
    images.push({ name, bytes, layers });
  }
  return images;
}

const instruction = (step: string): string =>
  step
    .replace(/^\/bin\/sh -c (?:#\(nop\) )?|^RUN \/bin\/sh -c |^\|\d+ .*?\/bin\/sh -c /, '')
    .replace(/ # buildkit$|(?:dir|file|multi):[0-9a-f]{64} in /g, '')
    .trim();
