/** An NVIDIA card for npm start: what to say about it, and CUDA for its worker, fetched once. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, lstat, readFile, rm, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, ROOT, runCommand } from './command.mjs';
import { Problem } from './problem.mjs';
import { withProgress } from './progress.mjs';

/** The same files as in the image for cards, by checksum. */
const REQUIREMENTS = join(ROOT, 'infra/docker/cuda-requirements.txt');
/** ONNX Runtime looks for its providers beside its own library. */
const RUNTIME = join(ROOT, 'node_modules/onnxruntime-node/bin/napi-v6/linux/x64');
const PROVIDERS = ['libonnxruntime_providers_cuda.so', 'libonnxruntime_providers_shared.so'];
const LIBRARIES = ['nvidia/cu13/lib', 'nvidia/cudnn/lib'];
/** The first driver with CUDA 13. */
const DRIVER = 580;
const PLATFORMS = ['manylinux_2_28', 'manylinux_2_27', 'manylinux2014', 'manylinux2010', 'manylinux1'];
const SMI_MS = 10_000;

/**
 * The variables with which a worker finds CUDA, none where it needs none. `device` is LEHR_DEVICE: `cuda` fetches what is missing, `auto` uses
 * what an earlier start has fetched and says how to fetch it. Throws a Problem when `cuda` is not possible.
 */
export async function cudaFor({ device, home, say, signal, runtime = RUNTIME }) {
  if (!['auto', 'cuda'].includes(device) || `${process.platform}/${process.arch}` !== 'linux/x64') return {};
  if (await isInstalledOtherwise(runtime)) return {};
  const card = await nvidiaCard();
  const obstacle = obstacleOf(card);
  if (device === 'cuda' && obstacle) throw new Problem(`LEHR_DEVICE is cuda, but ${obstacle}.`);
  if (obstacle) {
    if (card) say(`An NVIDIA card is not used: ${obstacle}.`);
    return {};
  }
  const folder = join(home, 'cuda');
  if (!(await isFetched(folder))) {
    if (device === 'auto') {
      say(
        `${card.name} is not used yet. LEHR_DEVICE=cuda npm start fetches CUDA 13 for it once, 2.4 GB on disk.`,
      );
      return {};
    }
    await fetchCuda(folder, signal);
  }
  for (const name of PROVIDERS) {
    await rm(join(runtime, name), { force: true });
    await symlink(join(folder, 'onnxruntime/capi', name), join(runtime, name));
  }
  const before = process.env.LD_LIBRARY_PATH ? [process.env.LD_LIBRARY_PATH] : [];
  return { LD_LIBRARY_PATH: [...LIBRARIES.map((each) => join(folder, each)), ...before].join(delimiter) };
}

/** Whether somebody has put the provider there who also takes care of the libraries; a link is from an earlier start. */
async function isInstalledOtherwise(runtime) {
  const provider = await lstat(join(runtime, PROVIDERS[0])).catch(() => undefined);
  return provider !== undefined && !provider.isSymbolicLink();
}

/** The first card and the version of its driver; undefined when there is none. */
async function nvidiaCard() {
  const program = await findProgram('nvidia-smi');
  if (!program) return undefined;
  const args = ['--query-gpu=name,driver_version', '--format=csv,noheader'];
  const asked = promisify(execFile)(program, args, { timeout: SMI_MS });
  const { stdout } = await asked.catch(() => ({ stdout: '' }));
  const [, name, driver] = /^(.+), (\d+\.[\d.]+)$/m.exec(stdout) ?? [];
  return name && { name, driver };
}

function obstacleOf(card) {
  if (!card) return 'nvidia-smi, which comes with the driver, finds no NVIDIA card here';
  return Number.parseInt(card.driver, 10) < DRIVER
    ? `${card.name} has driver ${card.driver}, and CUDA 13 needs ${DRIVER} or newer`
    : undefined;
}

/** The list of what was fetched is written last, so a fetch that was interrupted, or one of an older list, is repeated. */
async function isFetched(folder) {
  const [wanted, fetched] = await Promise.all(
    [REQUIREMENTS, join(folder, 'requirements.txt')].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  return fetched === wanted && existsSync(join(folder, 'onnxruntime/capi', PROVIDERS[0]));
}

async function fetchCuda(folder, signal) {
  const python = await findProgram('python3');
  const hint = 'On Debian or Ubuntu: sudo apt-get install python3-pip';
  if (!python) throw new Problem(`CUDA is fetched with pip, and there is no python3 here. ${hint}`);
  await rm(folder, { recursive: true, force: true });
  const options = ['--require-hashes', '--no-deps', '--only-binary=:all:', '--python-version', '3.12'];
  const platforms = PLATFORMS.flatMap((name) => ['--platform', `${name}_x86_64`]);
  const args = ['-m', 'pip', 'install', '--no-cache-dir', '--target', folder, ...options, ...platforms];
  const code = await withProgress('Fetching CUDA 13 and the CUDA provider of ONNX Runtime', () =>
    runCommand(python, [...args, '-r', REQUIREMENTS], { signal, quiet: true }),
  );
  signal.throwIfAborted();
  if (code !== 0) throw new Problem(`CUDA could not be fetched (pip ended with exit code ${code}). ${hint}`);
  await copyFile(REQUIREMENTS, join(folder, 'requirements.txt'));
}
