/** `lehr models export`: makes ONNX graphs of a model of torch, in an environment of Python, and enters them in models.yaml. */
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { LehrError, SLUG, withPart, withVersion } from '@lehr/shared';
import { acquireLock, controlFolder, slugOf } from '@lehr/shared/model-cache';
import { filesOfModel, syncFolder } from '../../engine/models/imported/import-folder.ts';
import { taskOfFolder } from '../../engine/models/open-folder.ts';
import { defaultsOf } from './pull.ts';
import { ensurePython, runScript } from './python.ts';
import type { ToolEvent } from './tool-event.ts';
import { changeModelsFile, placesOf, readModelsFile, type ToolSettings } from './tool-settings.ts';
import { newRef } from './versions.ts';

export interface ExportRequest {
  /** A folder, a `.safetensors` file, or `owner/name` of the hub. */
  readonly source: string;
  /** Branch, tag or commit of a repository of the hub. */
  readonly revision?: string | undefined;
  /** `name` or `name@version`; of a ControlNet, its name. */
  readonly as?: string | undefined;
  /** The model of models.yaml that a ControlNet is for. */
  readonly controlOf?: string | undefined;
  /** The folder that relative paths start from. */
  readonly cwd: string;
}

/** Beside models.yaml: the folders that this command makes, of models by name and version, and of ControlNets by model and name. */
const [MODELS, CONTROLS] = ['exported', 'controls'];
/** No model has such a name. What a broken export has downloaded is used by the next one. */
const [LOCK, DRAFT, DOWNLOADS] = ['.lock', '.draft', '.downloads'];
/** In LEHR_HOME: the environment of Python. */
const PYTHON = 'python';
const NEVER = new AbortController().signal;

export async function exportModel(
  request: ExportRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const source = sourceOf(request);
  const name = request.as ?? slugOf(basename(source).replace(/\.safetensors$/, ''));
  const place = () => (request.controlOf === undefined ? modelPlace : controlPlace)(name, request, settings);
  // Before some gigabytes are fetched for nothing.
  await place();
  const say = (text: string): void => report({ type: 'step', text });
  const work = join(dirname(settings.modelsFile), MODELS);
  await mkdir(work, { recursive: true });
  // Held to the end: two exports at once would choose the same version, and install the same packages.
  const lock = await acquireLock(join(work, LOCK), NEVER, () => report({ type: 'waiting' }));
  const [draft, downloads] = [join(work, DRAFT), join(work, DOWNLOADS)];
  try {
    const { title, folder, enter } = await place();
    const python = await ensurePython(join(settings.home, PYTHON), say);
    await rm(draft, { recursive: true, force: true });
    const kind = request.controlOf === undefined ? 'model' : 'control';
    const made = { source, revision: request.revision ?? null, kind, folder: draft, downloads };
    await runScript(python, 'export_model.py', made, ({ step }) => {
      if (typeof step === 'string') say(step);
    });
    const bytes = await keep(draft, folder);
    await enter();
    await rm(downloads, { recursive: true, force: true });
    report({ type: 'exported', model: title, folder, bytes, models_file: settings.modelsFile });
  } finally {
    await rm(draft, { recursive: true, force: true });
    await lock.release();
  }
}

/** What is here comes before a repository with the same name. */
function sourceOf({ source, cwd, revision }: ExportRequest): string {
  const path = resolve(cwd, source);
  if (existsSync(path)) {
    if (revision === undefined) return path;
    throw new LehrError('invalid-request', `${path} is on this machine, which has no revisions.`);
  }
  if (/^[a-z0-9][\w.-]*\/[a-z0-9][\w.-]*$/i.test(source) && !source.endsWith('.safetensors')) return source;
  throw new LehrError(
    'not-found',
    `${path} is not there, and ${source} is no repository of the hub (owner/name).`,
  );
}

/** Where the result belongs, and how models.yaml gets to know it. */
interface Place {
  readonly title: string;
  readonly folder: string;
  enter(): Promise<void>;
}

async function modelPlace(name: string, _request: ExportRequest, settings: ToolSettings): Promise<Place> {
  const home = join(dirname(settings.modelsFile), MODELS);
  const ref = await newRef(name, home, settings);
  const folder = join(home, ref.name, ref.version);
  return {
    title: `${ref.name}@${ref.version}`,
    folder,
    async enter() {
      const task = taskOfFolder(folder);
      const model = await defaultsOf(task, folder);
      const path = `./${MODELS}/${ref.name}/${ref.version}`;
      // Jobs that name no version go on to the versions that are there.
      await changeModelsFile(settings, (text) =>
        withVersion(text, { ref, task, path, weightBeside: 0, model }),
      );
    },
  };
}

/** Throws LehrError `invalid-request` for what is no name, `model-not-found`, and `conflict` for a name or a folder that is in use. */
async function controlPlace(
  name: string,
  { controlOf = '' }: ExportRequest,
  settings: ToolSettings,
): Promise<Place> {
  if (!SLUG.test(name)) {
    const allowed = 'lower-case letters, digits, ".", "_" and "-"';
    throw new LehrError('invalid-request', `--as is ${JSON.stringify(name)}, expected ${allowed}.`);
  }
  const registry = await readModelsFile(settings);
  const model = registry?.named(controlOf);
  if (model?.task !== 'diffusion')
    throw new LehrError('model-not-found', `${controlOf} is no diffusion model of ${settings.modelsFile}.`);
  const path = `./${CONTROLS}/${model.name}/${name}`;
  const folder = join(dirname(settings.modelsFile), path);
  for (const entry of registry?.models ?? [])
    for (const each of entry.task === 'diffusion' ? entry.controls : []) {
      if (entry === model && each.name === name)
        throw new LehrError('conflict', `${model.name} has a ControlNet ${name}; --as names another one.`);
      if (controlFolder(each, placesOf(settings)) === folder)
        throw new LehrError(
          'conflict',
          `${folder} is the folder of ${each.name} of ${entry.name}; --as names another one.`,
        );
    }
  return {
    title: `${name} of ${model.name}`,
    folder,
    enter: () => changeModelsFile(settings, (text) => withPart(text, model.name, 'controls', { name, path })),
  };
}

/** A folder gets its name when it is complete and on the disk. Returns its bytes. */
async function keep(draft: string, folder: string): Promise<number> {
  let bytes = 0;
  for (const path of await filesOfModel(draft)) bytes += await syncFile(join(draft, path));
  await mkdir(dirname(folder), { recursive: true });
  // What a killed export has left: models.yaml does not name it.
  await rm(folder, { recursive: true, force: true });
  await rename(draft, folder);
  for (const each of [dirname(folder), dirname(dirname(folder))]) await syncFolder(each);
  return bytes;
}

/** Its bytes, which are on the disk then. */
async function syncFile(path: string): Promise<number> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}
