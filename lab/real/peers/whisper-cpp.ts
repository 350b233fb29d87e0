/** whisper.cpp, on the weights of the other programs in its own file format. */
import { existsSync } from 'node:fs';
import type { Bench } from '../section.ts';
import { whisperModels } from '../whisper/models.ts';
import { pythonSide, type Side } from './sides.ts';

export const WHISPER_CPP = {
  name: 'whisper/cpp',
  requirements: 'lab/real/peers/requirements.txt',
  size: '25 MB, 100 MB on the disk',
};

/** Writes the file of the model when it is missing, with the environment of the section Whisper. */
export async function whisperCppSide(bench: Bench): Promise<Side> {
  const models = await whisperModels(bench, []);
  const file = models.folder('ggml-base.bin');
  if (!existsSync(file)) {
    const program = await bench.openPython('lab/real/peers/ggml.py');
    try {
      await program.ask({ folder: models.folder('weights'), file });
    } finally {
      await program.close();
    }
  }
  return pythonSide('whisper.cpp (float16)', bench, models, { do: 'whisper.cpp', file }, WHISPER_CPP.name);
}
