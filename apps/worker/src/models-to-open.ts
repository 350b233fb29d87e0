/** What of the registry this worker opens: every version of the models of its tasks. */
import { join } from 'node:path';
import type { Registry, Task } from '@lehr/shared';
import type { ModelToOpen } from './engine/protocol.ts';

/** `folder` is where models.yaml lies. */
export function modelsToOpen(registry: Registry, tasks: readonly Task[], folder: string): ModelToOpen[] {
  return registry.models
    .filter((model) => tasks.includes(model.task))
    .flatMap((model) =>
      model.versions.map(({ version, path }): ModelToOpen => {
        const place = { ref: `${model.name}@${version}`, folder: join(folder, path) };
        if (model.task === 'whisper') {
          return { ...place, task: 'whisper', ...(model.variant && { variant: model.variant }) };
        }
        const { width, height } = model.defaults;
        return { ...place, task: 'diffusion', warmUp: { width, height } };
      }),
    );
}
