/** The programs that are compared, on the weights of the section Whisper: each opens as one side. */
import type { Bench } from '../section.ts';
import { whisperModels } from '../whisper/models.ts';
import { lehrSide, pythonSide, type Side, transformersJsSide } from './sides.ts';

export type Open = (bench: Bench) => Promise<Side>;

export const lehr =
  (form: 'merged' | 'int8'): Open =>
  async (bench) =>
    lehrSide('Lehr', (await whisperModels(bench, [form])).folder(form));
export const fasterWhisper =
  (compute_type: string, extra: object = {}): Open =>
  async (bench) =>
    pythonSide(
      `faster-whisper${'batched' in extra ? ', batched' : ''} (${compute_type})`,
      bench,
      await whisperModels(bench, []),
      {
        do: 'faster-whisper',
        compute_type,
        ...extra,
      },
    );
export const transformers: Open = async (bench) =>
  pythonSide('transformers (PyTorch)', bench, await whisperModels(bench, []), { do: 'transformers' });
export const transformersJs: Open = async (bench) =>
  transformersJsSide('transformers.js', (await whisperModels(bench, ['merged'])).folder('merged'));

/** Opens the sides, and closes all of them at the end. */
export async function withSides<Result>(
  bench: Bench,
  opens: readonly Open[],
  work: (sides: Side[]) => Promise<Result>,
): Promise<Result> {
  const sides: Side[] = [];
  try {
    for (const open of opens) sides.push(await open(bench));
    return await work(sides);
  } finally {
    for (const side of sides) await side.close();
  }
}
