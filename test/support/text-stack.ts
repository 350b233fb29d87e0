/** All of Lehr as real processes with the real text models of lab/real/text. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LehrProcess } from './lehr-process.ts';
import type { TestRedis } from './redis.ts';
import { type Stack, startStack } from './stack.ts';
import { unpackTextFixture } from './text-fixtures.ts';
import { tempFolder } from './tiny-models.ts';

const MODELS = {
  'bert-sentences': 'text-embedding',
  'bert-classes': 'text-classification',
  'bert-fill-mask': 'fill-mask',
  'bert-entities': 'token-classification',
} as const;

export interface TextStack extends Stack {
  readonly serving: LehrProcess;
}

/** A stack with one worker, which serves these models. */
export async function textStack(
  server: TestRedis,
  names: readonly (keyof typeof MODELS)[],
): Promise<TextStack> {
  const folder = await tempFolder('text-models');
  for (const name of names) unpackTextFixture(name, join(folder, name), 'onnx');
  const entries = names.map(
    (name) =>
      `  - { name: ${name}, task: text, tasks: [${MODELS[name]}], versions: [{ version: "1", path: ${name} }] }`,
  );
  const models = join(folder, 'models.yaml');
  writeFileSync(models, `models:\n${entries.join('\n')}\n`);
  const stack = await startStack(server, { LEHR_MODELS: models, LEHR_TASKS: 'text' });
  return { ...stack, serving: await stack.worker() };
}
