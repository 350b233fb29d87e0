/** `lehr models export` as a user runs it: what it says where Python or its packages are missing, and that nothing stays then. */
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { readText } from '../repo/readme.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { v3Tokenizer } from '../support/whisper-v3.ts';
import { startLehrCommand } from './lehr-command.ts';

/** Where `npm run lab -- real` keeps its packages and models: an export there needs some gigabytes. */
const { REAL_CACHE: CACHE } = process.env;
const ROOM = new URL('../../lab/real/diffusion/', import.meta.url).pathname;

function hasPython(): boolean {
  try {
    execFileSync('python3', ['-c', 'import venv, ensurepip'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Scripts that export something below the folder. */
function running(folder: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const lineOf = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  return pids.map(lineOf).filter((line) => line.includes('export_model.py') && line.includes(folder)).length;
}

async function home() {
  const folder = await tempFolder('home');
  await mkdir(join(folder, 'torch'));
  await writeFile(join(folder, 'torch/config.json'), '{}');
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    startLehrCommand(['models', 'export', ...args], {
      env: { LEHR_HOME: folder, LEHR_DEVICE: 'cpu', ...env },
      cwd: folder,
    });
  const lehr = (...more: Parameters<typeof start>) => start(...more).ended;
  return { folder, start, lehr };
}

test('An export of what is not there, or without Python, says so in one sentence and leaves nothing', async () => {
  const { folder, lehr } = await home();
  expect(await lehr(['./sd'])).toMatchObject({
    code: 65,
    stderr: expect.stringMatching(/sd is not there, and \.\/sd is no repository of the hub \(owner\/name\)/),
  });
  expect(await lehr(['torch', '--revision', 'main'])).toMatchObject({
    stderr: expect.stringContaining('is on this machine, which has no revisions'),
  });
  expect(await lehr(['torch', '--control-of', 'sd15'])).toMatchObject({
    stderr: expect.stringContaining('sd15 is no diffusion model of'),
  });
  const onlyNode = await tempFolder('path');
  await symlink(process.execPath, join(onlyNode, 'node'));
  const { code, stdout, stderr } = await lehr(['torch'], { PATH: onlyNode });
  expect({ code: code !== 0, stdout }).toEqual({ code: true, stdout: '' });
  expect(stderr).toMatch(/about 3 GB are downloaded[\s\S]*An export needs Python 3\.10 or later/);
  expect(await readdir(join(folder, 'exported'))).toEqual([]);
  expect(existsSync(join(folder, 'models.yaml'))).toBe(false);
});

test('A folder that models.yaml names is not written over by the export of a ControlNet', async () => {
  const { folder, lehr } = await home();
  const kept = join(folder, 'controls/sd15/edges/model.onnx');
  await mkdir(dirname(kept), { recursive: true });
  await writeFile(kept, 'graph');
  await writeFile(
    join(folder, 'models.yaml'),
    'models: [{ name: sd15, task: diffusion, versions: [{ version: "1", path: sd15 }], controls: [{ name: lines, path: ./controls/sd15/edges }] }]',
  );
  const { code, stderr } = await lehr(['torch', '--control-of', 'sd15', '--as', 'edges'], {
    PIP_NO_INDEX: '1',
  });
  expect({ code, stderr }).toEqual({
    code: 65,
    stderr: expect.stringContaining('is the folder of lines of sd15; --as names another one.'),
  });
  expect(await readFile(kept, 'utf8')).toBe('graph');
});

test.skipIf(!hasPython())(
  'Packages that cannot be fetched are no half environment: the next export fetches them again',
  { timeout: 120_000, tags: ['long'] },
  async () => {
    const { folder, lehr } = await home();
    for (let i = 0; i < 2; i += 1) {
      const { code, stderr } = await lehr(['torch'], { PIP_NO_INDEX: '1', PIP_FIND_LINKS: folder });
      expect(code).not.toBe(0);
      expect(stderr).toMatch(
        /install Python packages[\s\S]*lehr: ERROR: No matching distribution found for torch==/,
      );
    }
    expect(await readdir(join(folder, 'exported'))).toEqual([]);
  },
);

test.skipIf(CACHE === undefined)(
  'A pipeline, a ControlNet and a speech model of torch become models that Lehr opens',
  { timeout: 600_000, tags: ['long'] },
  async () => {
    const { folder, start, lehr } = await home();
    const kept = join(CACHE ?? '', 'export/python');
    await mkdir(dirname(kept), { recursive: true });
    if (existsSync(kept)) await symlink(kept, join(folder, 'python'));
    expect(await lehr(['torch'])).toMatchObject({
      stderr: expect.stringContaining('is a nothing, which transformers'),
    });
    if (!existsSync(kept))
      await cp(join(folder, 'python'), kept, { recursive: true, verbatimSymlinks: true });
    const make = [
      'import sys',
      `sys.path.insert(0, ${JSON.stringify(ROOM)})`,
      'import pathlib, pipelines, diffusers, transformers',
      'work = pathlib.Path("work"); work.mkdir()',
      'made = pipelines.sd15(work); made.save_pretrained("sd")',
      'diffusers.ControlNetModel.from_unet(made.unet, conditioning_embedding_out_channels=(4, 4, 8, 8)).save_pretrained("edges")',
      'sizes = dict(encoder_layers=2, decoder_layers=2, d_model=32, encoder_attention_heads=2, decoder_attention_heads=2)',
      'config = transformers.WhisperConfig(**sizes, encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=51866)',
      'transformers.WhisperForConditionalGeneration(config).save_pretrained("speech")',
      'transformers.WhisperFeatureExtractor().save_pretrained("speech")',
    ].join('\n');
    execFileSync(join(folder, 'python/bin/python'), ['-c', make], { cwd: folder, stdio: 'ignore' });

    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const stopped = start(['sd']);
      await once(stopped.child.stderr, 'data');
      await expect.poll(() => running(folder)).toBe(1);
      stopped.child.kill(signal);
      await stopped.ended;
      await expect.poll(() => running(folder)).toBe(0);
    }
    expect(await lehr(['edges'])).toMatchObject({
      stderr: expect.stringContaining('--control-of names that'),
    });
    expect(await lehr(['sd'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^sd@1 {2}/) });
    expect(await lehr(['edges', '--control-of', 'sd'])).toMatchObject({ code: 0 });
    expect(await lehr(['speech', '--as', 'spoken@3', '--json'])).toMatchObject({ code: 0 });
    const { models } = parseRegistry(await readFile(join(folder, 'models.yaml'), 'utf8'));
    expect(models).toMatchObject([
      { name: 'sd', task: 'diffusion', controls: [{ name: 'edges', path: './controls/sd/edges' }] },
      { name: 'spoken', task: 'whisper', versions: [{ version: '3', path: './exported/spoken/3' }] },
    ]);
    // As Whisper large is exported, whose decoder has more than a file of a graph holds.
    const large = join(folder, 'large');
    const request = { source: join(folder, 'speech'), kind: 'model', folder: large, downloads: folder };
    const script = new URL('../../apps/worker/python/export_model.py', import.meta.url).pathname;
    await promisify(execFile)(join(folder, 'python/bin/python'), [
      script,
      JSON.stringify({ ...request, revision: null, graphBytes: 100_000 }),
    ]);
    expect(await readdir(large)).toContain('decoder_model_merged.onnx_data');
    await writeFile(join(large, 'tokenizer.json'), JSON.stringify(v3Tokenizer()));
    for (const exported of [join(folder, 'exported/sd/1'), large]) {
      const check = startLehrCommand(['models', 'check', exported]).ended;
      expect(await check).toMatchObject({ code: 0, stdout: expect.stringContaining('step by step') });
    }
  },
);

test('docs/models.md names the packages that an export installs', () => {
  const packages = readText('apps/worker/python/requirements.txt').trim().split('\n');
  for (const each of packages) expect(readText('docs/models.md')).toContain(each);
});
