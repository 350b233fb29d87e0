/** Settings of a separate API process without workers: a home, a models file with one model, a namespace. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenDone } from './cleanup.ts';
import { freshKeys } from './redis.ts';

export type Env = Record<string, string>;

const MODELS = 'models: [{ name: tiny, task: diffusion, versions: [{ version: "1", path: tiny }] }]';

export async function installation(redisUrl: string, more: Env = {}): Promise<Env> {
  const home = await mkdtemp(join(tmpdir(), 'lehr-home-'));
  whenDone(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, 'models.yaml'), MODELS);
  return {
    LEHR_HOME: join(home, 'data'),
    LEHR_MODELS: join(home, 'models.yaml'),
    LEHR_REDIS_URL: redisUrl,
    LEHR_NAMESPACE: freshKeys().prefix.slice(1, -1),
    LEHR_PORT: '0',
    ...more,
  };
}
