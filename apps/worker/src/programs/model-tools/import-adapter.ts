/** `lehr models import --adapter-of`: keeps the file of a LoRA beside models.yaml, and enters it there as an adapter of a model. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type DiffusionModelEntry, LehrError, SLUG, withPart } from '@lehr/shared';
import { acquireLock, adapterPath, checkFreeSpace, partFiles } from '@lehr/shared/model-cache';
import { type CheckedAdapter, checkAdapter } from '../../engine/models/adapters/check-adapter.ts';
import { syncFolder } from '../../engine/models/imported/import-folder.ts';
import { type FileRequest, type GivenFile, givenFile, ofFileSystem } from './given-file.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, placesOf, readModelsFile, type ToolSettings } from './tool-settings.ts';
import { findVersion } from './versions.ts';

export interface ImportAdapterRequest extends FileRequest {
  /** `name@version` of models.yaml, or `name`. All versions of the model get the adapter; it is checked with this one. */
  readonly adapterOf: string;
  /** In place of the words that the file has. */
  readonly trigger?: readonly string[] | undefined;
}

/** Beside models.yaml: the files that this command keeps, by model and name. */
const FOLDER = 'adapters';
/** No model has such a name. */
const [LOCK, DRAFT] = ['.lock', '.draft'];
/** Says how strong an adapter of PEFT is, beside its file. */
const PEFT_CONFIG = 'adapter_config.json';

export async function importAdapter(
  request: ImportAdapterRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { entry, folder } = await findVersion(request.adapterOf, settings, 'not a model');
  if (entry.task !== 'diffusion')
    throw new LehrError(
      'invalid-request',
      `${entry.name} is a model of the task ${entry.task}; adapters are for models of the task diffusion.`,
    );
  const home = join(dirname(settings.modelsFile), FOLDER);
  const check = (name: string) => checkName(name, entry, settings);
  const file = await givenFile(request, home, settings, report, check);
  try {
    await keep({ file, request, entry, folder, home }, settings, report);
  } catch (error) {
    throw ofFileSystem(error, home, file.path);
  } finally {
    await file.remove?.();
  }
}

interface AdapterToKeep {
  readonly file: GivenFile;
  readonly request: ImportAdapterRequest;
  readonly entry: DiffusionModelEntry;
  /** Of the version that it is checked with. */
  readonly folder: string;
  readonly home: string;
}

async function keep(
  { file: { path, name }, request, entry, folder, home }: AdapterToKeep,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const places = placesOf(settings);
  const others = partFiles(entry, places).adapters;
  const checked = await checkAdapter(path, { folder, name: request.adapterOf }, others);
  await mkdir(home, { recursive: true });
  const lock = await acquireLock(join(home, LOCK), new AbortController().signal, () =>
    report({ type: 'waiting' }),
  );
  try {
    // Another import may have taken the name meanwhile.
    await checkName(name, entry, settings);
    await write({ path, name, model: entry.name, home, checked, trigger: request.trigger }, settings, report);
  } finally {
    await lock.release();
  }
}

interface NewFile {
  readonly path: string;
  readonly name: string;
  readonly model: string;
  readonly home: string;
  readonly checked: CheckedAdapter;
  readonly trigger: readonly string[] | undefined;
}

/** A folder gets its name when it is complete and on the disk, and models.yaml names its file after that. */
async function write(
  { path, name, model, home, checked, trigger = checked.trigger }: NewFile,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const [draft, folder] = [join(home, DRAFT), join(home, model, name)];
  // What killed imports have left: models.yaml does not name it.
  for (const left of [draft, folder]) await rm(left, { recursive: true, force: true });
  const { size } = await stat(path);
  await checkFreeSpace(home, size);
  try {
    await mkdir(draft);
    await copyFile(path, join(draft, `${name}.safetensors`));
    const config = join(dirname(path), PEFT_CONFIG);
    if (checked.isPeft && existsSync(config)) await copyFile(config, join(draft, PEFT_CONFIG));
    for (const each of await readdir(draft)) await syncFolder(join(draft, each));
    await syncFolder(draft);
    await mkdir(dirname(folder), { recursive: true });
    await rename(draft, folder);
    for (const each of [dirname(folder), home]) await syncFolder(each);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  const listed = `./${FOLDER}/${model}/${name}/${name}.safetensors`;
  await changeModelsFile(settings, (text) =>
    withPart(text, model, 'adapters', {
      name,
      path: listed,
      ...(trigger.length > 0 && { trigger }),
    }),
  ).catch(async (error) => {
    await rm(folder, { recursive: true, force: true });
    throw error;
  });
  const { rank, layers, unused } = checked;
  report({
    type: 'adapter-imported',
    adapter: name,
    model,
    path: join(folder, `${name}.safetensors`),
    bytes: size,
    rank,
    layers,
    unused,
    trigger,
    models_file: settings.modelsFile,
  });
}

/** Throws LehrError `conflict` for a name that the model has, and for one whose file another entry names. */
async function checkName(
  name: string,
  { name: model }: DiffusionModelEntry,
  settings: ToolSettings,
): Promise<void> {
  if (!SLUG.test(name))
    throw new LehrError(
      'invalid-request',
      `--as is ${JSON.stringify(name)}, expected a name of lower-case letters, digits, ".", "_" and "-".`,
    );
  const folder = join(dirname(settings.modelsFile), FOLDER, model, name);
  for (const entry of (await readModelsFile(settings))?.models ?? []) {
    for (const each of entry.task === 'diffusion' ? entry.adapters : []) {
      if (entry.name === model && each.name === name)
        throw new LehrError('conflict', `${model} has an adapter ${name} already; --as names another one.`);
      if (dirname(adapterPath(each, placesOf(settings))) === folder)
        throw new LehrError(
          'conflict',
          `${folder} has the file of ${each.name} of ${entry.name}; --as names another one.`,
        );
    }
  }
}
