/** The commands and the metrics of docs/speech.md are correct. */
import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { METRICS } from '../../packages/shared/src/index.ts';
import { blocksOf, readText } from '../repo/readme.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { SAMPLES } from '../support/speech-files.ts';
import { speechModels } from '../support/speech-models.ts';
import { startStack } from '../support/stack.ts';
import { tempFolder } from '../support/tiny-models.ts';

const TEXT = readText('docs/speech.md');

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

test('The commands of docs/speech.md work with a recorded sentence', { tags: ['long'] }, async () => {
  const stack = await startStack(server, { LEHR_MODELS: await speechModels() });
  await stack.worker();
  const cwd = await tempFolder('docs');
  await copyFile(new URL('en_circle.wav', SAMPLES), join(cwd, 'speech.wav'));
  const env = { PATH: process.env.PATH, LEHR_API_KEY: stack.key, LEHR_URL: stack.url };
  const printed: Record<string, unknown> = {};
  for (const { language, label, text: command } of blocksOf(TEXT)) {
    expect(language).toBe('sh');
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', command], { cwd, env });
    printed[label] = JSON.parse(stdout);
  }
  const text = 'a red circle on a blue background';
  expect(printed).toMatchObject({
    transcribe: { status: 'succeeded', output: { text } },
    chain: { status: 'succeeded', output: { text, images: [{ seed: 7 }] } },
    graph: { http_code: 200, content_type: 'image/png' },
    workflow: { status: 'succeeded', output: { images: [{}, {}] } },
  });
});

test('Every metric in docs/speech.md exists', () => {
  const named = [...TEXT.matchAll(/`(lehr_\w+)`/g)].map(([, name]) => name);
  const known: readonly string[] = Object.values(METRICS).map(({ name }) => name);
  expect(named.length).toBeGreaterThan(0);
  for (const name of named) expect(known).toContain(name);
});
