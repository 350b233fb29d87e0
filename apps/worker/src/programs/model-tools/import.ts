/** `lehr models import`: makes a version from a file of weights and from a version with the same graphs, and enters it in models.yaml. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fieldsOfModel, LehrError, type ModelEntry, type ModelRef, withVersion } from '@lehr/shared';
import { acquireLock, checkFreeSpace } from '@lehr/shared/model-cache';
import { filesOfModel, importFolder, syncFolder } from '../../engine/models/imported/import-folder.ts';
import { type Base, type ImportPlan, planImport } from '../../engine/models/imported/plan-import.ts';
import { openWeightsFile, type WeightsFile } from '../../engine/models/weights/weights-file.ts';
import { type FileRequest, type GivenFile, givenFile, ofFileSystem } from './given-file.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, type ToolSettings } from './tool-settings.ts';
import { type FoundVersion, findVersion, newRef } from './versions.ts';

/** `as` is `name` or `name@version`. */
export interface ImportRequest extends FileRequest {
  /** `name@version` of models.yaml, or `name`. */
  readonly like: string;
}

/** Beside models.yaml: the folders that this command makes, by name and version. */
const FOLDER = 'imported';
/** No model has such a name, so neither is in the way of a folder. */
const [LOCK, DRAFT] = ['.lock', '.draft'];

export async function importModel(
  request: ImportRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { like } = request;
  const version = await findVersion(like, settings, 'not a model');
  const home = join(dirname(settings.modelsFile), FOLDER);
  const check = (wanted: string) => newRef(wanted, home, settings);
  const { path, name, remove } = await givenFile(request, home, settings, report, check);
  try {
    await importFile({ path, name, like, version, home }, settings, report);
  } finally {
    await remove?.();
  }
}

interface FileToImport extends Omit<GivenFile, 'remove'> {
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
    const lock = await acquireLock(join(home, LOCK), new AbortController().signal, () =>
      report({ type: 'waiting' }),
    );
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
