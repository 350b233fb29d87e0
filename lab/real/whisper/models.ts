/** Whisper base in every form that is compared, built once into the cache. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench } from '../section.ts';

export interface Weights {
  readonly tensors: number;
  readonly parameters: number;
  readonly type: string;
  readonly finite: boolean;
}

/** See exports.py; `words` outputs its cross-attentions. */
export type Form = 'merged' | 'pair' | 'words' | 'fp16' | 'fp16-pair' | 'int8' | 'int8-pair';

export interface Models {
  /** `weights` has the layout of transformers; the other folders are called like their form. */
  folder(name: string): string;
  readonly weights: Weights;
}

export const ENVIRONMENT = {
  name: 'whisper/venv',
  requirements: 'lab/real/whisper/requirements.txt',
  size: '3.3 GB, 7 GB on the disk (torch is a CUDA build)',
};

/** Builds what is missing; the sections that use Whisper share one folder. */
export async function whisperModels(bench: Bench, forms: readonly Form[]): Promise<Models> {
  const root = join(bench.cache, '../whisper/models');
  const mark = (name: string): string => join(root, name, 'complete.json');
  // The program takes long to start, even when there is nothing to build.
  if (!['weights', ...forms].every((name) => existsSync(mark(name)))) {
    const program = await bench.openPython('lab/real/whisper/build.py');
    try {
      await program.ask({ folder: root, forms });
    } finally {
      await program.close();
    }
  }
  const weights = JSON.parse(await readFile(mark('weights'), 'utf8')) as Weights;
  return { weights, folder: (name) => join(root, name) };
}
