/** `lehr models import`: makes a version from a file of weights and from a version with the same graphs, and enters it in models.yaml. */
import { fieldsOfModel, LehrError, type ModelEntry } from '@lehr/shared';
import { filesOfModel, valuesIn } from '../../engine/models/imported/import-folder.ts';
import { type ImportPlan, planImport } from '../../engine/models/imported/plan-import.ts';
import { openWeightsFile } from '../../engine/models/weights/weights-file.ts';
import { type FileRequest, type GivenFile, givenFile, ofFileSystem } from './given-file.ts';
import type { ToolEvent } from './tool-event.ts';
import type { ToolSettings } from './tool-settings.ts';
import { type FoundVersion, findVersion, newRef } from './versions.ts';
import { importedHome, lockedHome, nameOf, writeVersion } from './write-version.ts';

/** `as` is `name` or `name@version`. */
export interface ImportRequest extends FileRequest {
  /** `name@version` of models.yaml, or `name`. */
  readonly like: string;
}

export async function importModel(
  request: ImportRequest,
  settings: ToolSettings,
  report: (event: ToolEvent) => void,
): Promise<void> {
  const { like } = request;
  const version = await findVersion(like, settings, 'not a model');
  const home = importedHome(settings);
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
    await lockedHome(home, report, async () => {
      const ref = await newRef(name, home, settings);
      const model = (text: string) => fieldsOfModel(text, entry.name);
      const version = { base, plan, valuesOf: valuesIn(file), ref, model };
      const made = await writeVersion(version, settings, report);
      const { used, unused } = plan;
      const { modelsFile: models_file } = settings;
      report({ type: 'imported', model: nameOf(ref), like, ...made, used, unused, models_file });
    });
  } catch (error) {
    throw ofFileSystem(error, home, path);
  } finally {
    file.close();
  }
}

/** The graphs that the model runs must not be among those that cannot take new weights. */
function checkVariant({ graphs }: ImportPlan, entry: ModelEntry, like: string): void {
  const variant = entry.task === 'diffusion' ? undefined : entry.variant;
  if (!graphs.some(({ graph, isQuantized }) => variant && isQuantized && graph.endsWith(`${variant}.onnx`)))
    return;
  const advice = 'lehr models prepare --precision int8 makes such graphs of an imported model';
  throw new LehrError('invalid-request', `${like} runs graphs in int8 (${variant}); ${advice}.`);
}
