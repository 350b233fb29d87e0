/** Shows whether the files of a model folder were written or replaced. */
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LehrError } from '@lehr/shared';

/** Of a fetched folder (@lehr/shared/model-cache). Its times change while the model is used. */
export const FETCHED_MANIFEST = 'lehr-model.json';
/** Graphs, the usual names of their weights, configurations and tokenizers. */
const OF_A_MODEL =
  /(?:\.(?:onnx|onnx_data(?:_\d+)?|data|pb|weights|bin|json|model)|(?:^|\/)(?:vocab|merges)\.txt)$/i;
/** Texts, logs, files that are not complete, and weights of other programs: no graph has its weights in them. */
const NOT_OF_A_GRAPH =
  /(?:^|\/)(?:readme|license|notice)[^/]*$|\.tfevents\.|\.(?:md|txt|log|out|err|lock|tmp|part|py|csv|html|ya?ml|xml|png|jpe?g|safetensors|msgpack|h5|ckpt|pth?|gguf)$/i;

/** The variant of graphs that `lehr models prepare --precision` has not verified yet; no setting names it. */
export const DRAFT_VARIANT = '_lehr_draft';

/** Device, inode, size in bytes and time of the last write of each file in a folder, by its path below the folder. */
export type FilesState = ReadonlyMap<string, string>;

/**
 * Of the files that a model may be opened from, so that a log or a README in the folder is not taken for a part of the model. A
 * file counts when its name is that of a graph, weights, a configuration or a tokenizer. Beside a graph each other file counts too,
 * because a graph can have weights in files of any name, except those that NOT_OF_A_GRAPH names. Hidden files and folders never count.
 * Of a link, the state of the file that it leads to. Empty when there is no folder.
 */
export async function filesState(folder: string): Promise<FilesState> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const graphFolders = new Set(names.filter((name) => name.endsWith('.onnx')).map((name) => dirname(name)));
  const states = names
    .filter((name) => isOfModel(name, graphFolders))
    .sort()
    .map(async (name) => [name, await fileState(join(folder, name))] as const);
  return new Map(await Promise.all(states));
}

function isOfModel(name: string, graphFolders: ReadonlySet<string>): boolean {
  if (name === FETCHED_MANIFEST || name.split('/').some((part) => part.startsWith('.'))) return false;
  if (name.endsWith(`${DRAFT_VARIANT}.onnx`)) return false;
  return OF_A_MODEL.test(name) || (graphFolders.has(dirname(name)) && !NOT_OF_A_GRAPH.test(name));
}

/** Throws LehrError `model-unavailable` when a file that was there `before` is not the same any more. */
export async function refuseChanged(folder: string, before: FilesState): Promise<void> {
  const now = await filesState(folder);
  const changed = [...before].find(([name, state]) => now.get(name) !== state)?.[0];
  if (changed === undefined) return;
  throw new LehrError(
    'model-unavailable',
    `${join(folder, changed)} was changed while the model was opened; replace a folder by renaming a new one.`,
  );
}

/**
 * The path of a file that was written in place since `before`: the same file of the disk with another size or time. Equal
 * sizes are not enough, because an overwrite often keeps the size; so a `touch` looks like a write. A file that was replaced by rename
 * is another one, and a process that has opened the earlier one keeps that.
 */
export async function writtenInPlace(folder: string, before: FilesState): Promise<string | undefined> {
  const now = await filesState(folder);
  const name = [...before].find(([path, state]) => {
    const current = now.get(path);
    return current !== undefined && current !== state && fileOf(current) === fileOf(state);
  })?.[0];
  return name && join(folder, name);
}

/** Device and inode. */
const fileOf = (state: string): string => state.split(' ', 2).join(' ');

export async function fileState(path: string): Promise<string> {
  const file = await stat(path, { bigint: true }).catch(() => undefined);
  if (!file) return 'missing';
  // A new file in a folder changes the time of the folder.
  if (file.isDirectory()) return 'folder';
  return `${file.dev} ${file.ino} ${file.size} ${file.mtimeNs}`;
}

/** The size of all of these files, in bytes. */
export const bytesOf = (files: FilesState): number =>
  [...files.values()].reduce((sum, state) => sum + (Number(state.split(' ')[2]) || 0), 0);
