/** The commands of docs/models.md for Whisper's models of today, each beside a hub that has the files of its repository. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readText } from '../repo/readme.ts';
import { startHub } from '../support/hub-server.ts';
import { readFiles } from '../support/model-folders.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { unpackV3 } from '../support/whisper-v3.ts';
import { startLehrCommand } from './lehr-command.ts';

const PULLS = /`lehr (models pull hf:\/\/([\w-]+\/[\w.-]+) --variant (\w+) --as ([\w-]+))`/g;
const recipes = [...readText('docs/models.md').matchAll(PULLS)].map(([, command, repo, variant, name]) => ({
  command,
  repo,
  variant,
  name,
}));

async function hubOf(repo: string) {
  const folder = join(await tempFolder('whisper-v3'), 'repository');
  const suffixes = ['', '_fp16', '_quantized', '_q4', '_q4f16', '_bnb4'];
  unpackV3(repo.endsWith('_timestamped') ? 'turbo_timestamped' : 'turbo', suffixes, folder);
  return startHub(await readFiles(folder), { repo });
}

test('docs/models.md has a command for large-v3, its turbo form with and without times of words, and distil-large-v3', () => {
  expect(recipes.map(({ name }) => name)).toEqual(['turbo', 'turbo-words', 'distil', 'large-v3']);
});

for (const { command, repo, name } of recipes)
  test(`The command for '${name}' fetches a model that Lehr opens`, {
    timeout: 120_000,
    tags: ['turbo-words', 'distil'].includes(name) ? [] : ['long'],
  }, async () => {
    const hub = await hubOf(repo);
    const env = { LEHR_HOME: await tempFolder('home'), HF_ENDPOINT: hub.endpoint, LEHR_DEVICE: 'cpu' };
    const lehr = (args: readonly string[]) => startLehrCommand([...args], { env }).ended;
    const pulled = await lehr(command.split(' '));
    expect(pulled).toMatchObject({ code: 0, stdout: expect.stringContaining(`${name}@1`) });
    const folder = /^folder +(.*)$/m.exec(pulled.stdout)?.[1] ?? '';
    const checked = await lehr(['models', 'check', folder, '--json']);
    expect(JSON.parse(checked.stdout)).toMatchObject({ task: 'whisper', batching: 'step by step' });
  });
