/** The models that a worker opens: every version of each model of its tasks. */
import { join } from 'node:path';
import type { Registry, Task } from '@lehr/shared';
import type { ModelToOpen } from './engine/protocol.ts';

/** `folder` is the folder of models.yaml. */
export function modelsToOpen(registry: Registry, tasks: readonly Task[], folder: string): ModelToOpen[] {
  return registry.models
    .filter((model) => tasks.includes(model.task))
    .flatMap((model) =>
      model.versions.map(({ version, path }): ModelToOpen => {
        const location = { ref: `${model.name}@${version}`, folder: join(folder, path) };
        if (model.task === 'whisper') {
          return { ...location, task: 'whisper', ...(model.variant && { variant: model.variant }) };
        }
        const { width, height } = model.defaults;
        return { ...location, task: 'diffusion', warmUp: { width, height } };
      }),
    );
}
