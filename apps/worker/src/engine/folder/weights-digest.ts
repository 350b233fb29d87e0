/** A digest of a model's files: two folders with the same digest draw the same pictures. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { LehrError } from '@lehr/shared';
import { PREPARED_FOLDER } from './prepared-manifest.ts';

/**
 * Files that may lie beside the graphs and draw nothing: the manifest of a fetched folder (@lehr/shared/model-cache), and weights of
 * other programs, which may be as large as the model.
 */
const NOT_OF_THE_MODEL = /^lehr-model\.json$|\.(?:safetensors|bin|ckpt|pt|msgpack|h5|md)$/i;
const CHUNK_BYTES = 1024 * 1024;

/** SHA-256 of the names and contents of the files in the folder and its folders. Throws LehrError `model-unavailable`. */
export async function weightsDigest(folder: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    const files = (await filesIn(folder)).filter((name) => !NOT_OF_THE_MODEL.test(name)).sort();
    for (const name of files) {
      const digest = createHash('sha256');
      await pipeline(createReadStream(join(folder, name), { highWaterMark: CHUNK_BYTES }), digest);
      hash.update(JSON.stringify([name, digest.digest('hex')]));
    }
  } catch (cause) {
    throw new LehrError('model-unavailable', `The files of ${folder} could not be read.`, { cause });
  }
  return hash.digest('hex');
}

/** Paths of the files in a folder of models and in its folders, of which there is one level; links lead to files elsewhere. */
async function filesIn(folder: string, level = 0): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(join(folder), { withFileTypes: true })) {
    // What `lehr models prepare` keeps draws the same pictures within a tolerance.
    if (entry.name.startsWith(PREPARED_FOLDER)) continue;
    if (!entry.isDirectory()) names.push(entry.name);
    else if (level === 0)
      names.push(...(await filesIn(join(folder, entry.name), 1)).map((name) => `${entry.name}/${name}`));
  }
  return names;
}
