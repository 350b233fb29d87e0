/** The files that a model is opened from: those of its folder, and those of its adapters and ControlNets wherever they are. */
import { join } from 'node:path';
import { type FilesState, fileState, filesState } from '../../engine/folder/files-state.ts';
import type { ModelToOpen } from '../../engine/protocol/messages.ts';

/** By their paths below the folder; of parts, which may be in other folders, by absolute paths. */
export async function filesOfModel(model: ModelToOpen): Promise<FilesState> {
  const [files, parts] = await Promise.all([filesState(model.folder), partsOf(model)]);
  return new Map([...files, ...parts]);
}

/** As of a file of a folder; "missing" where it is not there, or where the folder of a ControlNet has no files. */
async function partsOf(model: ModelToOpen): Promise<FilesState> {
  const { adapters = [], controls = [] } = model.task === 'diffusion' ? model : {};
  const files = adapters.map(async ({ path }) => [[path, await fileState(path)] as const]);
  const folders = controls.map(async ({ folder }) => {
    const found = [...(await filesState(folder))].map(
      ([name, state]) => [join(folder, name), state] as const,
    );
    return found.length > 0 ? found : [[folder, 'missing'] as const];
  });
  return new Map((await Promise.all([...files, ...folders])).flat());
}

/** The state of the parts now, and the path of one that is not as it was `before`. */
export async function changedPart(
  model: ModelToOpen,
  before: FilesState,
): Promise<{ readonly path: string | undefined; readonly now: FilesState }> {
  const now = await partsOf(model);
  return { path: [...now].find(([path, state]) => before.get(path) !== state)?.[0], now };
}
