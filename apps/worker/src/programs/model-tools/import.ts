/** `lehr models import`: makes a version from a file of weights and from a version with the same graphs, and enters it in models.yaml. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fieldsOfModel, LehrError, type ModelEntry, type ModelRef, withVersion } from '@lehr/shared';
import { acquireLock, checkFreeSpace, fetchFile, parseTypedFile, slugOf } from '@lehr/shared/model-cache';
import { filesOfModel, importFolder, syncFolder } from '../../engine/models/imported/import-folder.ts';
import { type Base, type ImportPlan, planImport } from '../../engine/models/imported/plan-import.ts';
import { openWeightsFile, type WeightsFile } from '../../engine/models/weights/weights-file.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, type ToolSettings } from './tool-settings.ts';
import { type FoundVersion, findVersion, newRef } from './versions.ts';

export interface ImportRequest {
  /** A path, or where it is fetched from. */
  readonly file: string;
  /** Branch, tag or commit of a repository of the hub. */
  readonly revision?: string | undefined;
  /** The folder that relative paths start from. */
  readonly cwd: string;
  /** `name@version` of models.yaml, or `name`. */
  readonly like: string;
  /** `name` or `name@version`. */
  readonly as?: string | undefined;
}

/** Beside models.yaml: the folders that this command makes, by name and version. */
const FOLDER = 'imported';
/** No model has such a name, so neither is in the way of a folder. */
const [LOCK, DRAFT, FETCHED] = ['.lock', '.draft', '.fetched'];

export async function importModel(
  request: ImportRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { like } = request;
  const version = await findVersion(like, settings, 'not a model');
  const home = join(dirname(settings.modelsFile), FOLDER);
  const { path, name, remove } = await weightsOf(request, home, settings, report);
  try {
    await importFile({ path, name, like, version, home }, settings, report);
  } finally {
    await remove?.();
  }
}

interface Weights {
  readonly path: string;
  /** Of the model that it becomes. */
  readonly name: string;
  /** Of a file that was fetched for this import. */
  readonly remove?: () => Promise<void>;
}

/** A file that is here comes before one of the hub with the same path. */
async function weightsOf(
  { file, revision, cwd, as }: ImportRequest,
  home: string,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<Weights> {
  const path = resolve(cwd, file);
  const remote = existsSync(path) ? undefined : parseTypedFile(file, revision);
  const name = as ?? slugOf(basename(remote?.name ?? path).replace(/\.safetensors$/, ''));
  // Before some gigabytes are fetched for nothing.
  await newRef(name, home, settings);
  if (!remote) {
    if (revision === undefined) return { path, name };
    throw new LehrError('invalid-request', `${path} is a file of this machine, which has no revisions.`);
  }
  report({ type: 'stage', verb: 'fetch' });
  const options = { ...settings.cache, signal: NEVER, onEvent: report };
  const fetched = await fetchFile(remote, join(home, FETCHED), options).catch((error: unknown) => {
    throw file.includes('://') ? error : orNotHere(error, path);
  });
  report({ type: 'stage', verb: 'import' });
  return { ...fetched, name };
}

/** A path with a slip of the pen may look like one of the hub. */
function orNotHere(error: unknown, path: string): unknown {
  if (!(error instanceof LehrError) || !['not-found', 'unauthenticated'].includes(error.code)) return error;
  const message = `${path} is not a file, and it was not found on the hub: ${error.message}`;
  return new LehrError(error.code, message, { cause: error });
}

interface FileToImport extends Omit<Weights, 'remove'> {
  readonly like: string;
  readonly version: FoundVersion;
  readonly home: string;
}

async function importFile(
  { path, name, like, version: { entry, folder }, home }: FileToImport,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const base = { folder, name: like, task: entry.task };
  const file = openWeightsFile(path);
  try {
    const graphs = (await filesOfModel(folder)).filter((each) => each.endsWith('.onnx'));
    const plan = await planImport(base, graphs, file);
    checkVariant(plan, entry, like);
    await mkdir(home, { recursive: true });
    // Held to the end: two imports at once would choose the same version.
    const lock = await acquireLock(join(home, LOCK), NEVER, () => report({ type: 'waiting' }));
    try {
      const ref = await newRef(name, home, settings);
      await writeVersion({ base, plan, file, ref, entry, home }, settings, report);
    } finally {
      await lock.release();
    }
  } catch (error) {
    throw ofFileSystem(error, home, path);
  } finally {
    file.close();
  }
}

const NEVER = new AbortController().signal;
const nameOf = ({ name, version }: ModelRef): string => `${name}@${version}`;

/** The graphs that the model runs must not be among those that cannot take new weights. */
function checkVariant({ graphs }: ImportPlan, entry: ModelEntry, like: string): void {
  const variant = entry.task === 'diffusion' ? undefined : entry.variant;
  if (!graphs.some(({ graph, isQuantized }) => variant && isQuantized && graph.endsWith(`${variant}.onnx`)))
    return;
  const advice = 'lehr models prepare --precision int8 makes such graphs of an imported model';
  throw new LehrError('invalid-request', `${like} runs graphs in int8 (${variant}); ${advice}.`);
}

interface NewFolder {
  readonly base: Base;
  readonly plan: ImportPlan;
  readonly file: WeightsFile;
  readonly ref: ModelRef;
  readonly entry: ModelEntry;
  readonly home: string;
}

/** A folder gets its name when it is complete and on the disk, and models.yaml names it after that. */
async function writeVersion(
  { base, plan, file, ref, entry, home }: NewFolder,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const draft = join(home, DRAFT);
  const folder = join(home, ref.name, ref.version);
  // What killed imports have left: models.yaml does not name it.
  for (const left of [draft, folder]) await rm(left, { recursive: true, force: true });
  await checkFreeSpace(home, plan.bytes);
  try {
    await mkdir(draft);
    const onProgress = (doneBytes: number) => report({ type: 'progress', doneBytes, totalBytes: plan.bytes });
    const made = await importFolder({ base, plan, file, folder: draft, onProgress });
    await mkdir(dirname(folder), { recursive: true });
    await rename(draft, folder);
    for (const each of [dirname(folder), home]) await syncFolder(each);
    await changeModelsFile(settings, (text) =>
      withVersion(text, {
        ref,
        task: entry.task,
        path: `./${FOLDER}/${ref.name}/${ref.version}`,
        // Jobs that name no version go on to the versions that are there.
        weightBeside: 0,
        model: fieldsOfModel(text, entry.name),
      }),
    ).catch(async (error) => {
      await rm(folder, { recursive: true, force: true });
      throw error;
    });
    const { used, unused } = plan;
    const { modelsFile: models_file } = settings;
    report({
      type: 'imported',
      model: nameOf(ref),
      like: base.name,
      folder,
      ...made,
      used,
      unused,
      models_file,
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** An error of a file as one sentence; every other error as it is. */
function ofFileSystem(error: unknown, home: string, file: string): unknown {
  const { code = '', path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (!/^E[A-Z0-9]+$/.test(code)) return error;
  const what = code === 'ENOENT' ? `${path ?? 'A file'} is not there any more` : WRITE_ERRORS[code];
  const text = what ?? `${path ?? basename(file)} cannot be used (${code})`;
  return new LehrError('storage-failed', `${text}; nothing of the model stays in ${home}.`, { cause: error });
}

const WRITE_ERRORS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full',
  EDQUOT: 'The disk quota is used up',
  EFBIG: 'A file would be larger than allowed',
  EROFS: 'The file system is read-only',
  EACCES: 'Permission was denied',
};
