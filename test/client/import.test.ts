/** `lehr models import` as a user runs it, and what stays when it is killed, runs twice or cannot write. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, lstat, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { parseRegistry } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { unpackFixture } from '../support/diffusion-fixtures.ts';
import { startHub } from '../support/hub-server.ts';
import { below, readTensors, writeTensors } from '../support/imported-model.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { unpackExport } from '../support/whisper-exports.ts';
import { lehrShell, startLehrCommand } from './lehr-command.ts';

const WHOLE = { timeout: 120_000 };
const TOOL = new URL('../../apps/worker/dist/programs/model-tools/main.js', import.meta.url).pathname;

/** models.yaml with sd15@1, and a file of other weights for its graphs. */
async function home() {
  const [folder, files] = [await tempFolder('home'), await tempFolder('weights')];
  unpackFixture('sd15', join(folder, 'sd15'));
  unpackFixture('sd15-weights', files);
  const list = join(folder, 'models.yaml');
  await writeFile(
    list,
    'models:\n  - name: sd15\n    task: diffusion\n    default: true\n    defaults: { steps: 12 }\n    versions: [{ version: "1", path: ./sd15 }]\n',
  );
  const env = { LEHR_HOME: folder, LEHR_DEVICE: 'cpu' };
  const file = join(files, 'whole.safetensors');
  const lehr = (...args: string[]) => startLehrCommand(['models', ...args], { env }).ended;
  const models = async () => parseRegistry(await readFile(list, 'utf8')).models;
  const versions = async () =>
    (await models()).flatMap(({ name, versions: all }) => all.map(({ version }) => `${name}@${version}`));
  return { folder, env, list, file, lehr, models, versions, imported: join(folder, 'imported') };
}

test(
  'lehr models import enters a fine-tuned model with the settings of its base, and says what it did not use',
  WHOLE,
  async () => {
    const at = await home();
    const made = await at.lehr('import', at.file, '--like', 'sd15@1', '--as', 'dreamy');
    expect(made).toMatchObject({ code: 0, stderr: expect.stringMatching(/100 % import/) });
    expect(made.stdout).toMatch(/^unet\/model\.onnx +from the file$/m);
    expect(made.stdout).toMatch(/^dreamy@1 {2}[\d.]+ MB written, all else is shared with sd15@1$/m);
    expect(made.stdout).toMatch(/^used {4}1018 of 1124 tensors of the file$/m);
    expect(made.stdout).toMatch(/^unused {2}first_stage_model\.encoder {2}104 tensors$/m);
    const [, dreamy] = await at.models();
    expect(dreamy).toMatchObject({
      name: 'dreamy',
      default: false,
      defaults: { steps: 12 },
      versions: [{ version: '1', path: './imported/dreamy/1', weight: 1 }],
    });
    expect(await at.lehr('check', join(at.imported, 'dreamy/1'))).toMatchObject({ code: 0 });

    const second = await at.lehr('import', at.file, '--like', 'sd15', '--as', 'sd15', '--json');
    expect(JSON.parse(second.stdout)).toMatchObject({ model: 'sd15@2', like: 'sd15', used: 1018 });
    expect((await at.models())[0].versions).toMatchObject([{ weight: 1 }, { version: '2', weight: 0 }]);
  },
);

test(
  'An import spares the folder of a renamed model, keeps models.yaml a link, and takes settings that are aliases',
  WHOLE,
  async () => {
    const at = await home();
    const real = join(at.folder, 'real.yaml');
    await rename(at.list, real);
    await symlink('real.yaml', at.list);
    const text = (await readFile(real, 'utf8')).replace('{ steps: 12 }', '&fast { steps: 12 }');
    const other =
      '  - { name: other, task: diffusion, defaults: *fast, versions: [{ version: "1", path: ./sd15 }] }\n';
    await writeFile(real, `# Ours.\n${text}${other}`);
    // The name of the lock's file, before it began with a dot.
    expect(await at.lehr('import', at.file, '--like', 'other', '--as', 'lock')).toMatchObject({ code: 0 });
    expect((await lstat(at.list)).isSymbolicLink()).toBe(true);
    expect((await at.models())[2]).toMatchObject({ name: 'lock', defaults: { steps: 12 } });
    const renamed = (await readFile(real, 'utf8')).replace('name: lock', 'name: renamed');
    expect(renamed).toMatch(/^# Ours\.$/m);
    await writeFile(real, renamed);
    const unet = join(at.imported, 'lock/1/unet/model.onnx');
    const { ino } = await lstat(unet);
    const again = await at.lehr('import', at.file, '--like', 'sd15', '--as', 'lock');
    expect(again.stderr).toContain('lock/1 is the folder of renamed@1; --as names another version.');
    expect((await lstat(unet)).ino).toBe(ino);
  },
);

test('The commands of docs/models.md that import files work, also with a file of the hub', {
  ...WHOLE,
  tags: ['long'],
}, async () => {
  const text = readText('docs/models.md');
  const { env, file, folder, list, imported } = await home();
  const hub = await startHub(
    new Map([['dreamy.safetensors', { bytes: await readFile(file), isLarge: true }]]),
    {
      repo: 'owner/name',
    },
  );
  const [block] = blocksOf(text).filter(({ label }) => label === 'import');
  const { run, cwd } = await lehrShell({ ...env, FILE: file, HF_ENDPOINT: hub.endpoint });
  expect(await run(block.text)).toMatch(/dreamy@1[\s\S]*GRAPH +PROVIDER[\s\S]*batching {2}step by step/);

  unpackExport('merged', join(folder, 'whisper'));
  unpackExport('weights', cwd);
  const whisper =
    '  - { name: whisper-base, task: whisper, versions: [{ version: "1", path: ./whisper }] }\n';
  await writeFile(list, `${await readFile(list, 'utf8')}${whisper}`);
  await copyFile(file, join(cwd, 'dreamy.safetensors'));
  await rename(
    await writeTensors(below('first_stage_model.', await readTensors(file))),
    join(cwd, 'vae.safetensors'),
  );
  const commands = [...text.matchAll(/\| `(lehr models import [^`]+)` \|/g)].map(([, command]) => command);
  expect(commands).toHaveLength(4);
  const made: string[] = [];
  for (const command of commands) made.push(JSON.parse(await run(`${command} --json`)).model);
  expect(made).toEqual(['dreamy@2', 'sd15-vae@1', 'my-whisper@1', 'dreamy@3']);
  // What was fetched is removed.
  expect((await readdir(imported)).sort()).toEqual(['dreamy', 'my-whisper', 'sd15-vae']);
});

test(
  'A file that cannot be fetched, or not be imported when it is here, leaves one sentence and nothing else',
  WHOLE,
  async () => {
    const at = await home();
    const pickle = Buffer.from('PK\x03\x04archive/data.pkl');
    const hub = await startHub(new Map([['a.safetensors', { bytes: pickle, isLarge: true }]]));
    const refused = async (file: string, ...args: string[]) => {
      const env = { ...at.env, HF_ENDPOINT: hub.endpoint };
      const command = ['models', 'import', file, '--like', 'sd15', ...args];
      const { code, stdout, stderr } = await startLehrCommand(command, { env }).ended;
      expect({ isRefused: code !== 0, stdout }).toEqual({ isRefused: true, stdout: '' });
      return stderr;
    };
    expect(await refused('acme/model/a.safetensors')).toMatch(
      /^0 % fetch 0 B of 20 B\n[\s\S]*lehr: a\.safetensors is a pickle[^\n]+\n$/,
    );
    expect(await refused('acme/model/b.safetensors')).toMatch(
      /^lehr: \/\S+\/b\.safetensors is not a file, and it was not found on the hub: [^\n]+has no file b\.safetensors\.\n$/,
    );
    hub.seen.length = 0;
    expect(await refused('acme/model/a.safetensors', '--as', 'sd15@1')).toContain('is already there');
    expect(await refused('acme/model/a.ckpt')).toContain('may be a pickle');
    expect(await refused(at.file, '--revision', 'v1')).toContain('has no revisions');
    expect(hub.seen).toEqual([]);
    expect(await draftsIn(at.imported)).toEqual([]);
    expect(await at.versions()).toEqual(['sd15@1']);
  },
);

test(
  'What cannot be imported is refused in one sentence, and neither models.yaml nor the disk changes',
  WHOLE,
  async () => {
    const at = await home();
    const before = await readFile(at.list, 'utf8');
    const pickle = join(at.folder, 'model.ckpt');
    await writeFile(pickle, 'PK\x03\x04');
    const refused = async (...args: string[]) => {
      const { code, stdout, stderr } = await at.lehr('import', ...args);
      expect(code).not.toBe(0);
      expect(stdout).toBe('');
      expect(stderr).toMatch(/^lehr: [^\n]+\n$/);
      return stderr;
    };
    expect(await refused(pickle, '--like', 'sd15')).toContain('model.ckpt is a pickle');
    expect(await refused(join(at.folder, 'none'), '--like', 'sd15')).toContain('none is not a file');
    expect(await refused(at.file, '--like', 'other@1')).toContain('other@1 is not a model of');
    expect(await refused(at.file, '--like', 'sd15@7')).toContain('sd15@7');
    expect(await refused(at.file, '--like', 'sd15', '--as', 'No Name')).toContain(
      'expected name or name@version',
    );
    expect(await refused(at.file, '--like', 'sd15', '--as', 'sd15@1')).toContain('sd15@1 is already there');
    await rm(join(at.folder, 'sd15'), { recursive: true });
    expect(await refused(at.file, '--like', 'sd15')).toContain('lehr models pull fetches a model');
    expect(await readFile(at.list, 'utf8')).toBe(before);
    expect(await draftsIn(at.imported)).toEqual([]);
  },
);

const draftsIn = async (folder: string): Promise<string[]> =>
  existsSync(folder) ? (await readdir(folder)).filter((name) => name !== '.lock') : [];

test('An import that is killed leaves no version, and the next one leaves nothing of it', {
  ...WHOLE,
  tags: ['long'],
}, async () => {
  const at = await home();
  for (let round = 0; round < 6; round += 1) {
    const request = { command: 'import', file: at.file, cwd: '/', like: 'sd15', as: `killed@${round}` };
    const tool = spawn(process.execPath, [TOOL, JSON.stringify(request)], {
      env: { ...process.env, ...at.env },
    });
    let lines = 0;
    tool.stdout.on('data', (data: Buffer) => {
      // At its first progress, and a little later in each round.
      lines += data.toString().split('\n').length - 1;
      if (lines > round) tool.kill('SIGKILL');
    });
    await once(tool, 'close');
    for (const name of await at.versions()) {
      if (name === 'sd15@1') continue;
      const [model, version] = name.split('@');
      expect(await readdir(join(at.imported, model, version))).toContain('model_index.json');
    }
  }
  expect(await at.lehr('import', at.file, '--like', 'sd15', '--as', 'whole')).toMatchObject({ code: 0 });
  expect(await readdir(at.imported)).not.toContain('.draft');
  expect(await at.lehr('check', join(at.imported, 'whole/1'))).toMatchObject({ code: 0 });
});

test('Two imports of one file at once make two whole versions', { ...WHOLE, tags: ['long'] }, async () => {
  const at = await home();
  const both = await Promise.all(
    [0, 1].map(() => at.lehr('import', at.file, '--like', 'sd15', '--as', 'twice')),
  );
  expect(both).toMatchObject([{ code: 0 }, { code: 0 }]);
  expect(await at.versions()).toEqual(['sd15@1', 'twice@1', 'twice@2']);
  expect(await draftsIn(at.imported)).toEqual(['twice']);
});

test('An import that cannot write says why in one sentence, and leaves nothing', WHOLE, async () => {
  const at = await home();
  const request = JSON.stringify({ command: 'import', file: at.file, cwd: '/', like: 'sd15', as: 'large' });
  // A limit of the system for the size of a file, in kB: writing fails in the middle of the weights of the UNet.
  const limited = `trap '' XFSZ; ulimit -f 1200; exec "${process.execPath}" "${TOOL}" '${request}'`;
  const tool = spawn('bash', ['-c', limited], { env: { ...process.env, ...at.env } });
  const [stdout] = await Promise.all([text(tool.stdout), once(tool, 'close')]);
  const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  expect(last).toMatchObject({
    type: 'failed',
    code: 'storage-failed',
    message: expect.stringMatching(/^A file would be larger than allowed; nothing of it stays in /),
  });
  expect(await at.versions()).toEqual(['sd15@1']);
  expect(await draftsIn(at.imported)).toEqual([]);
});
