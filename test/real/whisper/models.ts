/** Whisper base in every form that is compared, built once into the cache. */
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
  requirements: 'test/real/whisper/requirements.txt',
  size: '3.3 GB, 7 GB on the disk (torch is a CUDA build)',
};

/** Builds what is missing; the sections that use Whisper share one folder. */
export async function whisperModels(bench: Bench, forms: readonly Form[]): Promise<Models> {
  const root = join(bench.cache, '../whisper/models');
  const program = await bench.openPython('test/real/whisper/build.py');
  try {
    const weights = await program.ask<Weights>({ folder: root, forms });
    return { weights, folder: (name) => join(root, name) };
  } finally {
    await program.close();
  }
}
