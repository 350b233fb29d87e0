/** Calls of the clients of OpenAI and of Hugging Face through API, queue, worker and engine, and what they send to Redis. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceClient } from '@huggingface/inference';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type Stack, startStack } from '../support/stack.ts';
import { expectedOf, unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { watchCommands } from '../support/watch-commands.ts';

const CALLS = 32;

let server: TestRedis;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

async function textStack(): Promise<Stack> {
  const folder = await tempFolder('text-calls');
  const models = join(folder, 'models.yaml');
  const entry = (name: string, task: string): string => {
    unpackTextFixture(name, join(folder, name), 'onnx');
    return `  - { name: ${name}, task: text, tasks: [${task}], versions: [{ version: "1", path: ${name} }] }`;
  };
  const entries = [entry('bert-sentences', 'text-embedding'), entry('bert-fill-mask', 'fill-mask')];
  writeFileSync(models, `models:\n${entries.join('\n')}\n`);
  const stack = await startStack(server, { LEHR_MODELS: models, LEHR_TASKS: 'text' });
  await stack.worker();
  return stack;
}

test("The clients of OpenAI and of Hugging Face get what transformers computes, and a long text's length", {
  tags: ['long'],
}, async () => {
  const { url, key } = await textStack();
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const [sentence] = expectedOf<{ text: string; normalized: number[] }>('bert-sentences').cases;
  const { data, usage } = await openai.embeddings.create({ model: 'bert-sentences', input: sentence.text });
  expect(usage.prompt_tokens).toBeGreaterThan(2);
  const hub = (model: string) => new InferenceClient(key, { endpointUrl: `${url}/models/${model}` });
  const features = await hub('bert-sentences').featureExtraction({ inputs: sentence.text });
  for (const [i, value] of sentence.normalized.entries()) {
    expect(data[0]?.embedding[i]).toBeCloseTo(value, 5);
    expect(features[i]).toBeCloseTo(value, 5);
  }
  const [mask] = expectedOf<{ text: string; fills: { sequence: string }[][] }>('bert-fill-mask').cases;
  const wanted = mask.fills[0][0].sequence;
  const filled = await fetch(`${url}/fill-mask`, {
    method: 'POST',
    body: mask.text,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'text/plain' },
  });
  expect(JSON.stringify(await filled.json())).toContain(JSON.stringify(wanted).slice(1, -1));
  const long = openai.embeddings.create({ model: 'bert-sentences', input: ['a', 'circle '.repeat(5000)] });
  await expect(long).rejects.toMatchObject({ status: 400, param: 'input.1' });
});

test('A held call for one text needs at most eight Redis commands of API and worker together', {
  tags: ['long'],
}, async () => {
  const { url, key } = await textStack();
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
  const ask = (i: number) => openai.embeddings.create({ model: 'bert-sentences', input: `circle ${i}` });
  await ask(0);
  const counts = new Map<string, number>();
  await watchCommands(server.url, ({ args: [name], source }) => {
    // The commands inside a script are not counted, only the script call.
    if (source !== 'lua') counts.set(name.toLowerCase(), (counts.get(name.toLowerCase()) ?? 0) + 1);
  });
  const took: number[] = [];
  for (let i = 1; i <= CALLS; i++) {
    const startedAt = performance.now();
    await ask(i);
    took.push(performance.now() - startedAt);
  }
  const list = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, n]) => `${name} ${(n / CALLS).toFixed(1)}`);
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0) / CALLS;
  const median = took.sort((a, b) => a - b)[CALLS / 2] ?? 0;
  process.stdout.write(
    `Redis commands per held call: ${all.toFixed(1)} (${list.join(', ')}), median ${median.toFixed(1)} ms\n`,
  );
  expect(all).toBeLessThanOrEqual(8);
});
