import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readTextConfig } from './text-config.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lehr-text-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function configOf(config: object, tokenizer: object = {}) {
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(tokenizer));
  return readTextConfig(folder);
}

const maxTokens = async (config: object, tokenizer?: object): Promise<number> =>
  (await configOf(config, tokenizer)).tokenizer.maxTokens;

test('The smallest limit of the files counts, and without one 512 tokens', async () => {
  expect(await maxTokens({ max_position_embeddings: 256 }, { model_max_length: 128 })).toBe(128);
  expect(await maxTokens({})).toBe(512);
});

test('The number that transformers writes for a tokenizer without a limit is no limit', async () => {
  expect(await maxTokens({}, { model_max_length: 1e30 })).toBe(512);
  expect(await maxTokens({ max_position_embeddings: 256 }, { model_max_length: 1e30 })).toBe(256);
});

test('n_positions is a limit as well', async () => {
  expect(await maxTokens({ n_positions: 1024 })).toBe(1024);
});

test('RoBERTa and its kin count positions from the one after the padding id', async () => {
  const roberta = { model_type: 'roberta', max_position_embeddings: 514, pad_token_id: 1 };
  expect(await configOf(roberta)).toMatchObject({ firstPosition: 2, tokenizer: { maxTokens: 512 } });
  expect(await configOf({ model_type: 'bert', max_position_embeddings: 512 })).toMatchObject({
    firstPosition: 0,
    tokenizer: { maxTokens: 512 },
  });
});
