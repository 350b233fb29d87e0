/** The models that a worker opens: every version of each model of its tasks. */
import type { Registry, Task } from '@lehr/shared';
import { type ModelPlaces, versionFolder } from '@lehr/shared/model-cache';
import type { ModelToOpen } from '../engine/protocol/messages.ts';

export function modelsToOpen(registry: Registry, tasks: readonly Task[], places: ModelPlaces): ModelToOpen[] {
  return registry.models
    .filter((model) => tasks.includes(model.task))
    .flatMap((model) =>
      model.versions.map((version): ModelToOpen => {
        const location = {
          ref: `${model.name}@${version.version}`,
          folder: versionFolder(version, places),
          ...(version.tuned && { tuned: version.tuned }),
        };
        if (model.task !== 'diffusion') {
          return { ...location, task: model.task, ...(model.variant && { variant: model.variant }) };
        }
        const { width, height } = model.defaults;
        return { ...location, task: 'diffusion', warmUp: { width, height } };
      }),
    );
}
