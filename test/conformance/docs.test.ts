/** The programs of docs/openai.md and docs/replicate.md run as they are written. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { lehrShell } from '../client/lehr-command.ts';
import { blocksOf, ROOT, readText } from '../repo/readme.ts';
import { API_KEY } from '../support/api-world.ts';
import { bundle } from '../support/bundle.ts';
import { startProgram } from '../support/lehr-process.ts';
import { flatPicture } from '../support/picture-file.ts';
import { freePort } from '../support/ports.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { speechModels } from '../support/speech-models.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { textWorld } from '../support/text-world.ts';

const RECORDING = fileURLToPath(new URL('../golden/samples/speech/en_circle.wav', import.meta.url));
const runFile = promisify(execFile);

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

/** Builds a program of the page, inside the repository, where Node finds its packages. `models` replace those of the page. */
async function programOf(page: string, label: string, models: Readonly<Record<string, string>> = {}) {
  const [block, another] = blocksOf(readText(page)).filter((each) => each.label === label);
  if (!block || another) throw new Error(`${page} needs exactly one block "${label}"`);
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'lehr-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, `${label}.ts`);
  const text = Object.entries(models).reduce((all, [named, ours]) => all.replace(named, ours), block.text);
  writeFileSync(file, text);
  return bundle(file, import.meta.url);
}

const envOf = ({ url, key }: Stack, more: Record<string, string> = {}) => ({
  LEHR_URL: url,
  LEHR_API_KEY: key,
  RECORDING,
  ...more,
});

async function outputOf(program: string, env: Record<string, string>): Promise<string[]> {
  const { stdout } = await runFile(process.execPath, [program], { env });
  return stdout.trim().split('\n');
}

const isLink = (text: string | undefined): boolean =>
  /^http:\/\/127\.0\.0\.1:\d+\/objects\//.test(text ?? '');

test('The programs and commands of the pages about texts embed, classify and fill masks', {
  timeout: 120_000,
}, async () => {
  const { url } = await textWorld(server.url);
  const env = { LEHR_URL: url, LEHR_API_KEY: API_KEY };
  const run = async (page: string, label: string, model: string) =>
    outputOf(await programOf(`docs/${page}.md`, label), { ...env, TEXT_MODEL: model });
  expect(await run('openai', 'embeddings', 'minilm')).toEqual(['2 10']);
  expect(await run('text', 'texts', 'words')).toEqual(['circle 0.50', 'square 0.33', 'cross 0.25']);
  const fills = await run('huggingface', 'huggingface', 'words');
  expect(fills).toEqual(['circle 0.50', 'square 0.33', 'cross 0.25', 'ring 0.20', 'star 0.17']);
  const lehr = await lehrShell(env);
  const shell = (label: string): Promise<string> =>
    lehr.run(blocksOf(readText('docs/text.md')).find((each) => each.label === label)?.text ?? '');
  expect(JSON.parse(await shell('embed'))).toMatchObject({ status: 'succeeded', output: { dimensions: 4 } });
  const [openai, embedding] = (await shell('none')).trim().split('\n');
  expect(JSON.parse(openai)).toMatchObject({ object: 'list', usage: { prompt_tokens: 5 } });
  expect(JSON.parse(embedding)).toHaveLength(3);
  expect(await shell('shell')).toMatch(
    /^\[[^\]]+\]\n\[[^\]]+\]\nLABEL +SCORE +TEXT\none +0\.7500 +a red circle\n/,
  );
});

test('The programs of docs/openai.md draw, stream, transcribe and run a batch', {
  tags: ['long'],
}, async () => {
  const stack = await startStack(server, { LEHR_MODELS: await speechModels() });
  await stack.worker();
  const [PICTURE, MASK] = [await flatPicture('#c83264'), await flatPicture('#ffffff80')];
  const env = envOf(stack, { SPEECH_MODEL: 'ears', PICTURE, MASK });
  const run = async (label: string) => outputOf(await programOf('docs/openai.md', label), env);
  expect((await run('openai')).map(isLink)).toEqual([true]);
  expect((await run('fields')).map(isLink)).toEqual([true, true]);
  expect((await run('stream')).at(-1)).toMatch(/^image_generation\.completed \d+$/);
  expect((await run('edit')).map(isLink)).toEqual([true]);
  expect((await run('mask')).map(isLink)).toEqual([true]);
  expect(await run('speech')).toEqual([expect.stringMatching(/a red circle on a blue background/i)]);
  const batch = (await run('batch')).map((line) => JSON.parse(line));
  expect(batch.map(({ custom_id, response }) => [custom_id, isLink(response.body.data[0].url)])).toEqual([
    ['a red circle', true],
    ['a blue square', true],
  ]);
  const labels = ['openai', 'fields', 'stream', 'edit', 'mask', 'speech', 'embeddings', 'batch'];
  expect(labelsOf('docs/openai.md')).toEqual(labels);
});

test('The programs of docs/replicate.md draw, transcribe and receive webhooks', {
  tags: ['long'],
}, async () => {
  const env = { LEHR_MODELS: await speechModels(), LEHR_EGRESS_ALLOW: '*' };
  const stack = await startStack(server, env);
  await stack.worker();
  const models = { 'lehr/demo-diffusion': 'lehr/brush' };
  const run = async (label: string) =>
    outputOf(
      await programOf('docs/replicate.md', label, models),
      envOf(stack, { SPEECH_MODEL: 'lehr/ears' }),
    );
  expect((await run('replicate')).map(isLink)).toEqual([true]);
  expect(await run('speech')).toEqual([expect.stringMatching(/a red circle on a blue background/i)]);

  const port = await freePort();
  const receiver = startProgram(
    await programOf('docs/replicate.md', 'receiver'),
    envOf(stack, { PORT: `${port}` }),
  );
  await receiver.logged('listening');
  const webhook = `http://127.0.0.1:${port}/`;
  const body = { input: { prompt: 'a red circle' }, webhook };
  expect((await stack.ask('POST', '/v1/models/lehr/brush/predictions', body)).status).toBe(202);
  await receiver.logged('succeeded');
  expect(
    (await fetch(webhook, { method: 'POST', body: '{}', headers: { 'webhook-id': 'msg_1' } })).status,
  ).toBe(401);
  expect(labelsOf('docs/replicate.md')).toEqual(['replicate', 'speech', 'receiver']);
});

const labelsOf = (page: string): string[] =>
  blocksOf(readText(page)).flatMap(({ language, label }) => (language === 'ts' ? [label] : []));
