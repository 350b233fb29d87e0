/** npm start on a machine with an NVIDIA card, where stand-ins take the place of nvidia-smi and of pip. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { tempFolder } from '../support/tiny-models.ts';

interface Cuda {
  cudaFor(options: {
    device: string;
    home: string;
    runtime: string;
    say(line: string): void;
    signal: AbortSignal;
  }): Promise<Readonly<Record<string, string>>>;
}
const { cudaFor } = (await import(new URL('../../infra/local/cuda.mjs', import.meta.url).href)) as Cuda;

/** Like pip: it writes what it would install below --target, and its own arguments beside it. */
const PYTHON = `#!/bin/sh
echo "$@" >> "$CALLS"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/onnxruntime/capi"
touch "$2/onnxruntime/capi/libonnxruntime_providers_cuda.so" "$2/onnxruntime/capi/libonnxruntime_providers_shared.so"
`;

/** Asks as npm start does, on a machine whose nvidia-smi prints this line; undefined: it has no nvidia-smi. */
async function machine(line: string | undefined) {
  const folder = await tempFolder('card');
  const [bin, home, runtime] = ['bin', 'home', 'runtime'].map((name) => join(folder, name));
  for (const each of [bin, home, runtime]) await mkdir(each);
  const programs = { python3: PYTHON, ...(line && { 'nvidia-smi': `#!/bin/sh\necho "${line}"\n` }) };
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(bin, name), text);
    await chmod(join(bin, name), 0o755);
  }
  vi.stubEnv('PATH', `${bin}${delimiter}/usr/bin${delimiter}/bin`);
  vi.stubEnv('CALLS', join(folder, 'calls'));
  vi.stubEnv('LD_LIBRARY_PATH', undefined);
  onTestFinished(() => void vi.unstubAllEnvs());
  const said: string[] = [];
  const ask = (device: string) => {
    const { signal } = new AbortController();
    return cudaFor({ device, home, runtime, say: (text) => said.push(text), signal });
  };
  const calls = (): Promise<string> => readFile(join(folder, 'calls'), 'utf8').catch(() => '');
  return { home, runtime, said, ask, calls };
}

test('npm start names the card and the one command that uses it, and fetches nothing by itself', async () => {
  const { said, ask, calls } = await machine('NVIDIA L4, 580.95.05');
  expect(await ask('auto')).toEqual({});
  expect(said).toEqual([
    expect.stringMatching(/^NVIDIA L4 is not used yet\. LEHR_DEVICE=cuda npm start .*$/),
  ]);
  expect(await ask('cpu')).toEqual({});
  expect(said).toHaveLength(1);
  expect(await calls()).toBe('');
});

test('LEHR_DEVICE=cuda fetches CUDA once by checksum, and later starts use it without being asked', async () => {
  const { home, runtime, said, ask, calls } = await machine('NVIDIA L4, 580.95.05');
  const env = await ask('cuda');
  expect(env.LD_LIBRARY_PATH).toBe(
    [join(home, 'cuda/nvidia/cu13/lib'), join(home, 'cuda/nvidia/cudnn/lib')].join(delimiter),
  );
  const provider = 'libonnxruntime_providers_cuda.so';
  expect(await readlink(join(runtime, provider))).toBe(join(home, 'cuda/onnxruntime/capi', provider));
  expect(existsSync(join(runtime, 'libonnxruntime_providers_shared.so'))).toBe(true);
  expect(await ask('auto')).toEqual(env);
  expect(await ask('cuda')).toEqual(env);
  expect((await calls()).trim().split('\n')).toEqual([
    expect.stringMatching(/ --require-hashes --no-deps --only-binary=:all: .*cuda-requirements\.txt$/),
  ]);
  expect(said).toEqual([]);

  // As after an upgrade that needs other files.
  await writeFile(join(home, 'cuda/requirements.txt'), 'onnxruntime-gpu==1.0.0\n');
  await ask('cuda');
  expect((await calls()).trim().split('\n')).toHaveLength(2);
});

test('A driver that is too old for CUDA 13 is named, and refused where CUDA was asked for', async () => {
  const { said, ask, calls } = await machine('Tesla T4, 550.54.15');
  expect(await ask('auto')).toEqual({});
  expect(said).toEqual([
    'An NVIDIA card is not used: Tesla T4 has driver 550.54.15, and CUDA 13 needs 580 or newer.',
  ]);
  await expect(ask('cuda')).rejects.toThrow('LEHR_DEVICE is cuda, but Tesla T4 has driver 550.54.15');
  expect(await calls()).toBe('');
});

test('Without a card npm start says nothing, unless CUDA was asked for', async () => {
  for (const line of [undefined, 'NVIDIA-SMI has failed because it could not communicate with the driver.']) {
    const { said, ask } = await machine(line);
    expect(await ask('auto')).toEqual({});
    expect(said).toEqual([]);
    await expect(ask('cuda')).rejects.toThrow('finds no NVIDIA card here');
  }
});

test('A provider that somebody else has installed is left alone', async () => {
  const { home, runtime, ask } = await machine('NVIDIA L4, 580.95.05');
  await writeFile(join(runtime, 'libonnxruntime_providers_cuda.so'), '');
  expect(await ask('cuda')).toEqual({});
  expect(existsSync(join(home, 'cuda'))).toBe(false);
});
