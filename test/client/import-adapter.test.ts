/** `lehr models import --adapter-of` as a user runs it, and what stays when it is killed, runs twice or cannot write. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { safetensorsHeader } from '../../packages/onnx-model/src/index.ts';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { startHub } from '../support/hub-server.ts';
import { readTensors, writeTensors } from '../support/imported-model.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { lehrShell, startLehrCommand } from './lehr-command.ts';

const WHOLE = { timeout: 120_000 };
const TOOL = new URL('../../apps/worker/dist/programs/model-tools/main.js', import.meta.url).pathname;

/** models.yaml with sd15@1, and the LoRAs that kohya, diffusers and PEFT wrote for it. */
async function home() {
  const [folder, files] = [await tempFolder('home'), await tempFolder('loras')];
  unpackFixture('sd15', join(folder, 'sd15'));
  unpackFixture('sd15-adapters', files);
  const list = join(folder, 'models.yaml');
  await writeFile(
    list,
    '# Ours.\nmodels:\n  - name: sd15\n    task: diffusion\n    versions: [{ version: "1", path: ./sd15 }]\n',
  );
  const env = { LEHR_HOME: folder, LEHR_DEVICE: 'cpu' };
  const lehr = (...args: string[]) => startLehrCommand(['models', ...args], { env }).ended;
  const adapters = async () => {
    const [model] = parseRegistry(await readFile(list, 'utf8')).models;
    return model.task === 'diffusion' ? model.adapters : [];
  };
  const file = (name: string) => join(files, 'adapters', name);
  return { folder, env, list, lehr, adapters, file, kept: join(folder, 'adapters') };
}

const draftsIn = async (folder: string): Promise<string[]> =>
  existsSync(folder) ? (await readdir(folder)).filter((name) => !name.startsWith('.lock')) : [];

test(
  'A LoRA becomes an adapter of a model, with its file beside models.yaml and the words that it was trained with',
  WHOLE,
  async () => {
    const at = await home();
    const tags = {
      'modelspec.trigger_phrase': '',
      ss_tag_frequency: '{"10_ink":{"ink drawing":20,"1girl":3}}',
    };
    const tensors = await readTensors(at.file('kohya.safetensors'));
    const tagged = join(at.folder, 'Ink Drawing.safetensors');
    await writeFile(
      tagged,
      Buffer.concat([safetensorsHeader(tensors, tags), ...tensors.map(({ bytes }) => bytes)]),
    );
    const made = await at.lehr('import', tagged, '--adapter-of', 'sd15');
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^ink-drawing {2}adapter of sd15, [\d.]+ kB$/m);
    expect(made.stdout).toMatch(/^layers {2}\d+, of rank \d+ at most$/m);
    expect(made.stdout).toMatch(/^trigger ink drawing$/m);
    expect(made.stdout).not.toContain('unused');
    expect(await readFile(at.list, 'utf8')).toMatch(/^# Ours\.\n/);
    const path = './adapters/sd15/ink-drawing/ink-drawing.safetensors';
    expect(await at.adapters()).toMatchObject([
      { name: 'ink-drawing', path, trigger: ['ink drawing'], scale: 1 },
    ]);
    expect(await readFile(join(at.folder, path))).toEqual(await readFile(tagged));

    const again = await at.lehr('import', tagged, '--adapter-of', 'sd15');
    expect(again.stderr).toBe('lehr: sd15 has an adapter ink-drawing already; --as names another one.\n');
    const second = await at.lehr(
      'import',
      tagged,
      '--adapter-of',
      'sd15@1',
      '--as',
      'ink',
      '--trigger',
      'a',
      '--trigger',
      'b',
      '--json',
    );
    expect(JSON.parse(second.stdout)).toMatchObject({
      adapter: 'ink',
      model: 'sd15',
      trigger: ['a', 'b'],
      unused: [],
    });
    expect(await draftsIn(at.kept)).toEqual(['sd15']);
  },
);

test.each(['diffusers', 'locon', 'plain', 'trained'])(
  'A LoRA in the layout %s is imported with all its tensors',
  { ...WHOLE, tags: ['long'] },
  async (layout) => {
    const at = await home();
    const { stdout, stderr } = await at.lehr(
      'import',
      at.file(`${layout}.safetensors`),
      '--adapter-of',
      'sd15',
      '--json',
    );
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ adapter: layout, unused: [] });
  },
);

test(
  'A LoRA of PEFT is kept with the file that says how strong it is, also from the hub',
  WHOLE,
  async () => {
    const at = await home();
    const peft = at.file('peft/adapter_model.safetensors');
    expect(await at.lehr('import', peft, '--adapter-of', 'sd15')).toMatchObject({ code: 0 });
    const names = ['adapter_model.safetensors', 'adapter_config.json'];
    const files = await Promise.all(
      names.map(async (name) => [name, { bytes: await readFile(at.file(`peft/${name}`)) }] as const),
    );
    const hub = await startHub(new Map(files), { repo: 'acme/pixel-art' });
    const env = { ...at.env, HF_ENDPOINT: hub.endpoint };
    const command = ['models', 'import', 'acme/pixel-art/adapter_model.safetensors', '--adapter-of', 'sd15'];
    expect(await startLehrCommand(command, { env }).ended).toMatchObject({ code: 0 });
    const adapters = await at.adapters();
    expect(adapters.map(({ name }) => name)).toEqual(['peft', 'pixel-art']);
    for (const { path = '' } of adapters)
      expect((await readdir(join(at.folder, path, '..'))).includes('adapter_config.json')).toBe(true);
    expect(await draftsIn(at.kept)).toEqual(['sd15']);
  },
);

test(
  'What cannot be an adapter of a model is refused in one sentence, and neither models.yaml nor the disk changes',
  WHOLE,
  async () => {
    const at = await home();
    const before = await readFile(at.list, 'utf8');
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await at.lehr('import', ...args);
      expect(code).not.toBe(0);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^lehr: [^\n]+\n$/);
      return stderr;
    };
    const lora = async (...tensors: readonly (readonly [name: string, ...shape: number[]])[]) =>
      writeTensors(
        tensors.map(([name, ...shape]) => ({
          name,
          dtype: 'F32',
          shape,
          bytes: Buffer.alloc(4 * shape.reduce((product, each) => product * each, 1)),
        })),
      );
    const toSd15 = ['--adapter-of', 'sd15'];
    const key = 'lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn2_to_k';
    const wide = await lora([`${key}.lora_down.weight`, 2, 2048], [`${key}.lora_up.weight`, 16, 2]);
    expect(await refused(wide, ...toSd15)).toMatch(
      /is an adapter for Stable Diffusion XL, and sd15 is one of /,
    );
    const flux = 'transformer.single_transformer_blocks.0.attn.to_k';
    expect(
      await refused(await lora([`${flux}.lora_A.weight`, 2, 8], [`${flux}.lora_B.weight`, 8, 2]), ...toSd15),
    ).toContain(
      'is for a model that draws with a transformer, such as FLUX or Stable Diffusion 3, and sd15 has a UNet',
    );
    expect(await refused(await lora([`${key}.hada_w1_a`, 2, 2]), ...toSd15)).toContain(
      'is a LoHa; Lehr takes LoRA and LoCon',
    );
    unpackFixture('sd15-weights', join(at.folder, 'weights'));
    expect(await refused(join(at.folder, 'weights/whole.safetensors'), ...toSd15)).toContain(
      'is a model or a part of one, and no adapter; lehr models import FILE --like sd15 makes a version of it',
    );
    const pickle = join(at.folder, 'a.pt');
    await writeFile(pickle, 'PK\x03\x04');
    expect(await refused(pickle, ...toSd15)).toContain('a.pt is a pickle');
    const own = at.file('kohya.safetensors');
    expect(await refused(own, '--adapter-of', 'other')).toContain('other is not a model of');
    expect(await refused(own, ...toSd15, '--as', 'No')).toContain('--as is "No", expected a name');
    expect(await refused(own, '--like', 'sd15')).toContain(
      'lehr models import FILE --adapter-of MODEL gives it to one',
    );
    const both = await at.lehr('import', own, '--like', 'sd15', ...toSd15);
    expect(both.stderr).toContain('--like and --adapter-of cannot be used together');
    const bare = await at.lehr('import', own);
    expect(bare.stderr).toContain('for a LoRA, --adapter-of: the model that gets it');
    await rm(join(at.folder, 'sd15'), { recursive: true });
    expect(await refused(own, ...toSd15)).toContain('lehr models pull fetches a model');
    expect(await readFile(at.list, 'utf8')).toBe(before);
    expect(await draftsIn(at.kept)).toEqual([]);
  },
);

test('The file of an adapter that was renamed in models.yaml is not overwritten', WHOLE, async () => {
  const at = await home();
  const own = at.file('kohya.safetensors');
  expect(await at.lehr('import', own, '--adapter-of', 'sd15', '--as', 'ink')).toMatchObject({ code: 0 });
  await writeFile(at.list, (await readFile(at.list, 'utf8')).replace('name: ink', 'name: renamed'));
  const again = await at.lehr('import', own, '--adapter-of', 'sd15', '--as', 'ink');
  expect(again.stderr).toContain('sd15/ink has the file of renamed of sd15; --as names another one.');
});

const toolWith = (request: object, env: Readonly<Record<string, string>>, limits = '') =>
  spawn('bash', ['-c', `${limits} exec "${process.execPath}" "${TOOL}" '${JSON.stringify(request)}'`], {
    env: { ...process.env, ...env },
  });

test('An import of an adapter that is killed leaves no entry without its file, and the next one leaves nothing of it', {
  ...WHOLE,
  tags: ['long'],
}, async () => {
  const at = await home();
  const request = {
    command: 'import-adapter',
    file: at.file('kohya.safetensors'),
    cwd: '/',
    adapterOf: 'sd15',
    as: 'ink',
  };
  await mkdir(join(at.kept, 'sd15'), { recursive: true });
  for (let round = 0; round < 4; round += 1) {
    const tool = toolWith(request, at.env);
    // At a change of the folder, one change later in each round.
    const watcher = watch(at.kept, { recursive: true });
    let changes = 0;
    watcher.on('change', () => {
      changes += 1;
      if (changes > round) tool.kill('SIGKILL');
    });
    await once(tool, 'close');
    watcher.close();
    for (const { path = '' } of await at.adapters())
      expect(await readFile(join(at.folder, path))).toEqual(await readFile(request.file));
    if ((await at.adapters()).length > 0) break;
  }
  const next = await at.lehr('import', request.file, '--adapter-of', 'sd15', '--as', 'next');
  expect(next).toMatchObject({ code: 0 });
  expect(await draftsIn(at.kept)).toEqual(['sd15']);
});

test('Two imports of one adapter at once make one, and two names make two', {
  ...WHOLE,
  tags: ['long'],
}, async () => {
  const at = await home();
  const run = (name: string) =>
    at.lehr('import', at.file('kohya.safetensors'), '--adapter-of', 'sd15', '--as', name);
  const all = await Promise.all(['ink', 'ink', 'oil'].map(run));
  expect(all.map(({ code }) => code === 0).sort()).toEqual([false, true, true]);
  const errors = all.flatMap(({ stderr }) => stderr.split('\n').filter((line) => line.startsWith('lehr:')));
  expect(errors).toEqual(['lehr: sd15 has an adapter ink already; --as names another one.']);
  expect((await at.adapters()).map(({ name }) => name).sort()).toEqual(['ink', 'oil']);
});

test(
  'An import of an adapter that cannot write says why in one sentence, and leaves nothing',
  WHOLE,
  async () => {
    const at = await home();
    const request = {
      command: 'import-adapter',
      file: at.file('kohya.safetensors'),
      cwd: '/',
      adapterOf: 'sd15',
      as: 'ink',
    };
    // A limit of the system for the size of a file, in kB.
    const tool = toolWith(request, at.env, "trap '' XFSZ; ulimit -f 8;");
    const [stdout] = await Promise.all([text(tool.stdout), once(tool, 'close')]);
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      type: 'failed',
      code: 'storage-failed',
      message: expect.stringMatching(/^A file would be larger than allowed; nothing of it stays in /),
    });
    expect(await at.adapters()).toEqual([]);
    expect(await draftsIn(at.kept)).toEqual([]);
  },
);

test('lehr models prepare --merge enters a version with adapters in its weights, and says what it cannot merge', {
  ...WHOLE,
  tags: ['long'],
}, async () => {
  const at = await home();
  for (const name of ['kohya', 'locon'])
    expect(await at.lehr('import', at.file(`${name}.safetensors`), '--adapter-of', 'sd15')).toMatchObject({
      code: 0,
    });
  const made = await at.lehr('prepare', 'sd15', '--merge', 'kohya:0.8', '--as', 'inked');
  expect(made).toMatchObject({ code: 0 });
  expect(made.stdout).toMatch(/^kohya +0\.8 +\d+$/m);
  expect(made.stdout).toMatch(/^inked@1 {2}[\d.]+ \wB written, all else is shared with sd15$/m);
  const [, inked] = parseRegistry(await readFile(at.list, 'utf8')).models;
  expect(inked).toMatchObject({
    name: 'inked',
    adapters: [{ name: 'locon' }],
    versions: [{ path: './imported/inked/1' }],
  });
  expect(await at.lehr('check', join(at.folder, 'imported/inked/1'))).toMatchObject({ code: 0 });
  const refused = async (...args: string[]) => (await at.lehr('prepare', 'sd15', ...args)).stderr;
  expect(await refused('--merge', 'oil')).toContain('sd15 has no adapter "oil"; it has: kohya, locon.');
  expect(await refused('--merge', 'kohya:11')).toContain('expected ADAPTER:SCALE with a scale of -10 to 10');
  expect(await refused('--merge', 'kohya', '--merge', 'kohya:2')).toContain('--merge names kohya twice.');
  expect(await refused('--merge', 'kohya', '--undo')).toContain(
    '--merge can be used together with --as only',
  );
  expect(await refused('--as', 'inked')).toContain('--as is for --merge');
});

test('The commands of docs/models.md that use a LoRA work', WHOLE, async () => {
  const at = await home();
  const [block] = blocksOf(readText('docs/models.md')).filter(({ label }) => label === 'adapter');
  const { run } = await lehrShell({ ...at.env, LORA: at.file('kohya.safetensors') });
  expect(await run(block.text)).toMatch(/^ink {2}adapter of sd15[\s\S]*^inked@1 /m);
});
