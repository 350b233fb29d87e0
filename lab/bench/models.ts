/** The models of the benches of all of Lehr: those that `npm start` offers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface BenchModels {
  /** Path of models.yaml. */
  readonly file: string;
  remove(): Promise<void>;
}

/** LEHR_MODELS if it is set; else the demo models, or, with a message, an untrained model if their weights are missing. */
export async function benchModels(): Promise<BenchModels> {
  const { LEHR_MODELS: chosen } = process.env;
  if (chosen) return { file: chosen, remove: async () => {} };
  const home = await mkdtemp(join(tmpdir(), 'lehr-bench-'));
  const launcher = new URL('../../infra/local/models.mjs', import.meta.url).href;
  const { defaultModels } = (await import(launcher)) as {
    defaultModels(where: { home: string; say(text: string): void }): Promise<string>;
  };
  const file = await defaultModels({ home, say: (text) => console.error(text) });
  return { file, remove: () => rm(home, { recursive: true, force: true }) };
}
