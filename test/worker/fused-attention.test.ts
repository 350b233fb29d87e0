/** What people who run workers see of fused attentions. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startLehrCommand } from '../client/lehr-command.ts';
import { freePort } from '../support/ports.ts';
import { startRedis } from '../support/redis.ts';
import { startStack } from '../support/stack.ts';
import { unpackTextFixture } from '../support/text-fixtures.ts';
import { tempFolder } from '../support/tiny-models.ts';

test('A worker fuses the attentions of a text model, and its metrics and lehr models check say how many', async () => {
  const folder = await tempFolder('fused');
  unpackTextFixture('bert-sentences', join(folder, 'bert'), 'onnx');
  const models = join(folder, 'models.yaml');
  writeFileSync(
    models,
    'models: [{ name: bert, task: text, tasks: [text-embedding], versions: [{ version: "1", path: bert }] }]\n',
  );
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const stack = await startStack(redis, { LEHR_MODELS: models, LEHR_TASKS: 'text' });
  const port = await freePort();
  await stack.worker({ LEHR_WORKER_PORT: `${port}` });
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const of = (form: string) =>
    `lehr_model_fusions{model="bert",version="1",graph="encoder",operator="MultiHeadAttention",form="${form}"}`;
  expect(page).toContain(`${of('fused')} 2\n`);
  expect(page).toContain(`${of('exported')} 0\n`);

  const env = { LEHR_HOME: folder, LEHR_DEVICE: 'cpu' };
  const checked = await startLehrCommand(['models', 'check', join(folder, 'bert')], { env }).ended;
  expect(checked.stdout).toContain('\n  attentions  2 fused\n');
});
