/**
 * npm run test:images [-- --only api,worker-cpu --cache FOLDER --out FOLDER --mirror URL]: runs every step of the Dockerfiles,
 * prints the layers, and starts API and worker from what came out. docs/images.md says what this shows and what it does not.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { findProgram, ROOT } from '../local/command.mjs';
import { Images } from './buildah.mjs';
import { Container } from './container.mjs';
import { drawn } from './drawn.mjs';
import { provider } from './provider.mjs';
import { standIn } from './stand-in.mjs';

const NAMES = ['api', 'worker-cpu', 'worker-cuda'];
const PROGRAMS = ['buildah', 'debootstrap', 'redis-server', 'redis-cli', 'unshare', 'setpriv'];
const MB = 1_000_000;
const SIZES = ['bytes', 'gzipBytes', 'zstdBytes'];

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: NAMES.join() },
    cache: { type: 'string', default: join(homedir(), '.cache/lehr-images') },
    mirror: { type: 'string', default: 'http://deb.debian.org/debian' },
    out: { type: 'string' },
  },
});
const say = (text) => console.log(text);
const megabytes = (bytes) => (bytes / MB).toFixed(1);

await ensure();
const only = values.only.split(',');
const unknown = only.filter((name) => !NAMES.includes(name));
if (unknown.length > 0) throw new Error(`--only ${unknown.join()}: wanted are some of ${NAMES.join()}`);
mkdirSync(values.cache, { recursive: true });
const images = new Images(values.cache);
const base = standIn(images, { root: ROOT, cache: values.cache, mirror: values.mirror });
const imageOf = (name) => `localhost/lehr-${name}:test`;
// Workers are tried beside the API.
for (const name of new Set(['api', ...only])) {
  const begun = performance.now();
  await images.build(join(ROOT, `infra/docker/${name}.Dockerfile`), imageOf(name), base, ROOT);
  say(`lehr-${name}: built in ${Math.round((performance.now() - begun) / 1000)} s`);
}
for (const name of only) await report(name);
await images.mounted(imageOf('api'), async (root) => {
  const api = { root, config: images.config(imageOf('api')) };
  for (const name of only.filter((each) => each !== 'api')) await tried(name, api);
});
say('Every check passed.');

async function ensure() {
  const lacking = [];
  for (const name of PROGRAMS) if (!(await findProgram(name))) lacking.push(name);
  if (lacking.length > 0) {
    throw new Error(
      `There is no ${lacking.join(', ')} here. Debian and Ubuntu: apt-get install buildah debootstrap redis-server`,
    );
  }
  if (process.getuid?.() !== 0)
    throw new Error('Run this as root: chroot and mounts need it. In containers, it needs all capabilities.');
}

async function report(name) {
  const layers = await images.layers(imageOf(name));
  say(`\nlehr-${name}: MB as a tar file, with gzip, with zstd`);
  const row = (each) => SIZES.map((field) => megabytes(each[field]).padStart(8)).join('');
  const total = Object.fromEntries(
    SIZES.map((field) => [field, layers.reduce((sum, layer) => sum + layer[field], 0)]),
  );
  say(`${row(total)}  all layers`);
  for (const each of layers) say(`${row(each)}  ${each.step.replace(/\s+/g, ' ').slice(0, 110)}`);
  await images.mounted(imageOf(name), (root) => {
    if (values.out === undefined) return;
    mkdirSync(values.out, { recursive: true });
    copyFileSync(join(root, 'lehr/sbom.cdx.json'), join(values.out, `lehr-${name}.cdx.json`));
    copyFileSync(join(root, 'lehr/licences.txt'), join(values.out, `lehr-${name}-licences.txt`));
  });
}

/** Draws with this worker's image. The one for cards draws on the CPU. */
async function tried(name, api) {
  await images.mounted(imageOf(name), async (root) => {
    const folder = mkdtempSync(join(values.cache, 'world-'));
    try {
      const worker = { root, config: images.config(imageOf(name)) };
      const lines =
        name === 'worker-cuda' ? [...provider(root, worker.config), await refused(worker, folder)] : [];
      lines.push(...(await drawn({ root: ROOT, folder, api, worker, device: 'cpu', say })));
      say(`\nlehr-${name}, with lehr-api:\n${lines.map((line) => `  ${line}`).join('\n')}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

/** What ONNX Runtime of the CUDA image says to a graph on a machine without a card. */
async function refused(worker, folder) {
  const env = { LEHR_REDIS_URL: 'redis://127.0.0.1:1', LEHR_WORKER_PORT: 0 };
  const program = `import('/lehr/node_modules/onnxruntime-node/dist/index.js').then(({ InferenceSession }) =>
    InferenceSession.create('/lehr/packages/demo-models/models/' + process.argv[1], { executionProviders: ['cuda'] }))
    .then(() => console.log('opened'), ({ message }) => console.log(message))`;
  const [graph] = ['demo-diffusion/vae_decoder/model.onnx'];
  const container = new Container({ ...worker, home: folder, user: '0:0', env });
  const { output } = await container.run(['node', '-e', program, graph]);
  const said = output.split('\n').findLast((line) => /libcuda\.so\.1|CUDA/.test(line));
  if (said === undefined) throw new Error(`the CUDA provider was not tried:\n${output}`);
  return `cuda: without a card ONNX Runtime says: ${said.slice(0, 300)}`;
}
