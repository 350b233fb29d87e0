/** Makes a version from one with the same graphs, in a folder beside models.yaml, and enters it there. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ModelRef, withVersion } from '@lehr/shared';
import { acquireLock, checkFreeSpace } from '@lehr/shared/model-cache';
import { type ImportedGraph, importFolder, syncFolder } from '../../engine/models/imported/import-folder.ts';
import type { Base, ImportPlan } from '../../engine/models/imported/plan-import.ts';
import type { ValuesOf } from '../../engine/models/imported/write-graph.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, type ToolSettings } from './tool-settings.ts';

/** Beside models.yaml: the folders that commands make, by name and version. */
const FOLDER = 'imported';
/** No model has such a name, so neither is in the way of a folder. */
const [LOCK, DRAFT] = ['.lock', '.draft'];

export const importedHome = ({ modelsFile }: ToolSettings): string => join(dirname(modelsFile), FOLDER);

export const nameOf = ({ name, version }: ModelRef): string => `${name}@${version}`;

/** Two commands at once would choose the same version, so the lock is held until it is in models.yaml. */
export async function lockedHome<Result>(
  home: string,
  report: (event: ToolEvent) => void,
  use: () => Promise<Result>,
): Promise<Result> {
  await mkdir(home, { recursive: true });
  const waiting = () => report({ type: 'waiting' });
  const lock = await acquireLock(join(home, LOCK), new AbortController().signal, waiting);
  try {
    return await use();
  } finally {
    await lock.release();
  }
}

interface NewVersion {
  readonly base: Base;
  readonly plan: Pick<ImportPlan, 'graphs' | 'bytes'>;
  readonly valuesOf: ValuesOf;
  readonly ref: ModelRef;
  /** More fields of a new model, out of the text of models.yaml. */
  readonly model: (text: string) => Readonly<Record<string, unknown>>;
}

interface WrittenVersion {
  readonly folder: string;
  readonly graphs: readonly ImportedGraph[];
  /** That were written. */
  readonly bytes: number;
}

/** A folder gets its name when it is complete and on the disk, and models.yaml names it after that. */
export async function writeVersion(
  { base, plan, valuesOf, ref, model }: NewVersion,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<WrittenVersion> {
  const home = importedHome(settings);
  const draft = join(home, DRAFT);
  const folder = join(home, ref.name, ref.version);
  // What killed imports have left: models.yaml does not name it.
  for (const left of [draft, folder]) await rm(left, { recursive: true, force: true });
  await checkFreeSpace(home, plan.bytes);
  try {
    await mkdir(draft);
    const onProgress = (doneBytes: number) => report({ type: 'progress', doneBytes, totalBytes: plan.bytes });
    const made = await importFolder({ base, plan, valuesOf, folder: draft, onProgress });
    await mkdir(dirname(folder), { recursive: true });
    await rename(draft, folder);
    for (const each of [dirname(folder), home]) await syncFolder(each);
    await changeModelsFile(settings, (text) =>
      withVersion(text, {
        ref,
        task: base.task,
        path: `./${FOLDER}/${ref.name}/${ref.version}`,
        // Jobs that name no version go on to the versions that are there.
        weightBeside: 0,
        model: model(text),
      }),
    ).catch(async (error) => {
      await rm(folder, { recursive: true, force: true });
      throw error;
    });
    return { folder, ...made };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}
