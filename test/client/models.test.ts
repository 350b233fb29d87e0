import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeTinyDiffusion, writeTinyWhisper } from '../../packages/demo-models/src/index.ts';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { startHub } from '../support/hub-server.ts';
import { readFiles, tinyModelFiles } from '../support/model-folders.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { lehrShell, startLehrCommand } from './lehr-command.ts';

const UNET = 'unet/model.onnx';
const WHOLE = { timeout: 240_000 };

async function home(endpoint = 'http://127.0.0.1:9') {
  const folder = await tempFolder('home');
  const env = { LEHR_HOME: folder, HF_ENDPOINT: endpoint, LEHR_DEVICE: 'cpu' };
  const lehr = (...args: string[]) => startLehrCommand(['models', ...args], { env }).ended;
  return { folder, env, lehr, list: join(folder, 'models.yaml') };
}

async function listed({ lehr }: Awaited<ReturnType<typeof home>>) {
  const { models } = JSON.parse((await lehr('list', '--json')).stdout) as {
    models: { model: string | null; state: string; folder: string; source: string | null }[];
  };
  return models;
}

test(
  'A file in the place of a model is named as such by list, check and pull, in one sentence',
  WHOLE,
  async () => {
    const at = await home();
    const file = join(at.folder, 'x.safetensors');
    await writeFile(file, 'weights');
    await writeFile(
      at.list,
      `models: [{ name: own, task: diffusion, versions: [{ version: "1", path: ${file} }] }]`,
    );
    expect(await listed(at)).toMatchObject([{ model: 'own@1', state: 'not a folder' }]);
    for (const args of [
      ['check', file],
      ['pull', file, '--as', 'other'],
    ]) {
      const { code, stderr } = await at.lehr(...args);
      expect(code).not.toBe(0);
      expect(stderr).toBe(`lehr: ${file} is a file; a model is a folder with its configs and graphs.\n`);
    }
  },
);

test(
  'lehr models pull fetches a model, enters it in models.yaml, and lists, checks and removes it',
  WHOLE,
  async () => {
    const hub = await startHub(await tinyModelFiles());
    const at = await home(hub.endpoint);
    await writeFile(
      at.list,
      '# ours\nmodels:\n  - { name: other, task: whisper, versions: [{ version: "1", path: other }] }\n',
    );
    const pulled = await at.lehr('pull', 'acme/model', '--as', 'tiny');
    expect(pulled).toMatchObject({ code: 0 });
    expect(pulled.stdout).toMatch(/^tiny@1 {2}[\d.]+ kB fetched\nfolder {2}.*\/models\/model-[0-9a-f]{12}\n/);
    expect(pulled.stderr).toMatch(/100 % fetch ([\d.]+ kB) of \1\n$/);
    const text = await readFile(at.list, 'utf8');
    expect(text).toContain('# ours\n');
    const [, model] = parseRegistry(text).models;
    expect(model).toMatchObject({
      name: 'tiny',
      task: 'diffusion',
      versions: [{ version: '1', source: 'hf://acme/model', revision: hub.commit }],
    });

    const again = await at.lehr('pull', 'acme/model', '--as', 'tiny', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ model: 'tiny@1', is_new: false });
    const [other, tiny] = await listed(at);
    expect(other).toMatchObject({ model: 'other@1', state: 'missing', source: null });
    expect(tiny).toMatchObject({ model: 'tiny@1', state: 'ready', source: 'hf://acme/model' });

    const checked = await at.lehr('check', tiny.folder);
    expect(checked.code).toBe(0);
    expect(checked.stdout).toMatch(/^unet\/model\.onnx \(rewired\) +cpu +\d+ ms +[\d.]+ ms$/m);
    expect(checked.stdout).toMatch(/in {3}sample float32\[/);
    expect(checked.stdout).toContain('batching  step by step\n');

    expect(await at.lehr('remove', 'tiny@1')).toMatchObject({ code: 0 });
    expect((await listed(at)).map(({ model: name }) => name)).toEqual(['other@1']);
    expect(await at.lehr('remove', 'tiny@1')).toMatchObject({
      code: 65,
      stderr: 'lehr: models.yaml has no tiny@1.\n',
    });
  },
);

test('lehr models pull that was interrupted or killed says so, and the same command continues', {
  tags: ['long'],
}, async () => {
  const files = await tinyModelFiles();
  const hub = await startHub(files);
  const at = await home(hub.endpoint);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGKILL', null],
  ] as const) {
    hub.fail(UNET, { kind: 'stall', after: 1000 });
    const asked = hub.asked(UNET);
    const { child, ended } = startLehrCommand(['models', 'pull', 'acme/model'], { env: at.env });
    await asked;
    child.kill(signal);
    const { code: exit, stderr } = await ended;
    expect(exit).toBe(code);
    if (code !== null) expect(stderr).toContain('what is complete stays');
  }
  expect(await listed(at)).toMatchObject([{ model: null, state: 'incomplete' }]);
  expect(await at.lehr('pull', 'acme/model')).toMatchObject({ code: 0 });
  const [{ model, state, folder }] = await listed(at);
  expect({ model, state }).toEqual({ model: 'model@1', state: 'ready' });
  expect(await readFile(join(folder, UNET))).toEqual(files.get(UNET)?.bytes);
});

test('The commands of docs/models.md work in their order', WHOLE, async () => {
  const hub = await startHub(await tinyModelFiles());
  const { env } = await home(hub.endpoint);
  const blocks = blocksOf(readText('docs/models.md')).filter(({ language }) => language === 'sh');
  expect(blocks.map(({ label }) => label)).toEqual(['pull', 'import', 'adapter']);
  const { run } = await lehrShell({ ...env, REPOSITORY: 'acme/model' });
  const stdout = await run(blocks[0].text);
  expect(stdout).toMatch(
    /^my-model@1 [\s\S]*MODEL +TASK[\s\S]*\nGRAPH +PROVIDER[\s\S]*batching {2}step by step/,
  );
});

test('lehr models pull explains what is refused', WHOLE, async () => {
  const hub = await startHub(await tinyModelFiles(), { token: 'hf_secret' });
  const at = await home(hub.endpoint);
  expect(await at.lehr('pull', 'acme/model')).toMatchObject({
    code: 77,
    stderr: expect.stringContaining('HF_TOKEN'),
  });
  expect(await at.lehr('pull', 'nonsense')).toMatchObject({
    code: 65,
    stderr: expect.stringContaining('is not a source of a model'),
  });
  expect(await at.lehr('pull', './nowhere')).toMatchObject({ code: 65 });
  const nothing = await at.lehr('check', join(at.folder, 'nowhere'));
  expect(nothing).toMatchObject({ code: 65, stderr: expect.stringContaining('could not be read') });
});

test('A folder is copied by lehr models pull; one of a diffusion model without a graph is refused', {
  tags: ['long'],
}, async () => {
  const at = await home();
  const whisper = join(at.folder, 'speech');
  await writeTinyWhisper(whisper);
  expect(await at.lehr('pull', whisper)).toMatchObject({ code: 0 });
  const [speech] = await listed(at);
  expect(speech).toMatchObject({ model: 'speech@1', state: 'ready' });
  const checked = JSON.parse((await at.lehr('check', speech.folder, '--json')).stdout);
  expect(checked).toMatchObject({ task: 'whisper', batching: 'step by step' });
  expect(checked.graphs.length).toBeGreaterThan(1);

  const half = join(at.folder, 'half');
  await mkdir(half);
  await writeTinyDiffusion(half, { seed: 1, timestepType: 'float32' });
  await rm(join(half, UNET));
  expect((await readFiles(half)).has(UNET)).toBe(false);
  expect(await at.lehr('pull', half)).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/has no unet\/model\.onnx.*lehr models export/),
  });
});
