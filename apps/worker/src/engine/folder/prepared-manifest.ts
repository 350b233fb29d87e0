/**
 * What `lehr models prepare` keeps in a model folder, in `.lehr-prepared`: `manifest.json`, and beside it one folder with the files that
 * the manifest names. The manifest appears by a rename after its files are complete, so a folder is prepared or it is not.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { LehrError, OPTIMIZATIONS, TUNED_DEVICES } from '@lehr/shared';
import { z } from 'zod';

export const PREPARED_FOLDER = '.lehr-prepared';
export const MANIFEST = 'manifest.json';

export const FileSchema = z.strictObject({
  /** Below the model folder. */
  path: z.string().regex(/^(?!.*(?:^|\/)\.\.(?:\/|$))[^/]/s, 'must be a path below the folder'),
  bytes: z.int().nonnegative(),
  mtime_ms: z.number(),
  ctime_ms: z.number(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type KeptFile = z.output<typeof FileSchema>;

const GraphSchema = z.strictObject({
  /** The path of the original below the model folder. */
  graph: z.string(),
  /** The original with its timestep or rows rewired, without its weights; absent when Lehr runs the original as it is. */
  rewired: FileSchema.optional(),
  /** What ONNX Runtime made of it: the graph first, then its weights. */
  optimized: z.array(FileSchema).min(1).optional(),
  /** The largest difference from the original's outputs on the same inputs, as a share of the largest output. */
  difference: z.number().optional(),
  tolerance: z.number().optional(),
});
export type PreparedGraph = z.output<typeof GraphSchema>;

const ManifestSchema = z.strictObject({
  /** To be raised when what Lehr rewires in a graph changes. */
  format: z.literal(1),
  made_at: z.string(),
  /** An optimised graph is for this runtime, device and processor only. */
  onnxruntime: z.string(),
  device: z.enum(TUNED_DEVICES),
  processor: z.string(),
  optimization: z.enum(OPTIMIZATIONS),
  /** The files of the model that it was made from. */
  sources: z.array(FileSchema).min(1),
  graphs: z.array(GraphSchema),
});
export type PreparedManifest = z.output<typeof ManifestSchema>;

/** Optimised graphs may use instructions that another processor lacks. */
export const processor = (): string =>
  `${process.platform} ${process.arch} ${cpus().at(0)?.model ?? 'unknown'}`;

/** Undefined where nothing is prepared, and where the manifest is of another format or damaged. */
export async function readManifest(folder: string): Promise<PreparedManifest | undefined> {
  try {
    const text = await readFile(join(folder, PREPARED_FOLDER, MANIFEST), 'utf8');
    return ManifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export async function keptFile(folder: string, path: string): Promise<KeptFile> {
  const { size, mtimeMs, ctimeMs } = await stat(join(folder, path));
  return {
    path,
    bytes: size,
    mtime_ms: mtimeMs,
    ctime_ms: ctimeMs,
    sha256: await sha256Of(join(folder, path)),
  };
}

/** Reads the file only when a time differs, as after a copy. Programs that keep the time of a change cannot keep ctime. */
export async function isUnchanged(
  folder: string,
  { path, bytes, mtime_ms, ctime_ms, sha256 }: KeptFile,
): Promise<boolean> {
  const now = await stat(join(folder, path)).catch(() => undefined);
  if (now?.size !== bytes) return false;
  const isSame = now.mtimeMs === mtime_ms && now.ctimeMs === ctime_ms;
  return isSame || (await sha256Of(join(folder, path))) === sha256;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}

/**
 * Files that may lie beside the graphs and draw nothing: the manifest of a fetched folder (@lehr/shared/model-cache), and weights of
 * other programs, which may be as large as the model.
 */
const NOT_OF_THE_MODEL = /^lehr-model\.json$|\.(?:safetensors|bin|ckpt|pt|msgpack|h5|md)$/i;
const CHUNK_BYTES = 1024 * 1024;

/**
 * A digest of a model's files: two folders with the same digest draw the same pictures.
 *
 * SHA-256 of the names and contents of the files in the folder and its folders. Throws LehrError `model-unavailable`.
 */
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
