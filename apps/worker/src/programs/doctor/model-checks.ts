/** Checks that the models open on the chosen device, by opening them. */
import type { Registry, Task } from '@lehr/shared';
import { type ModelPlaces, versionFolder } from '@lehr/shared/model-cache';
import { openFolder } from '../../engine/models/open-folder.ts';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import { AUTO_PROVIDERS, missingLibrary } from '../../engine/runtime/provider-library.ts';
import type { Provider } from '../../engine/runtime/runtime.ts';
import type { Check } from './check.ts';

export interface DeviceChoice {
  /** The value of LEHR_DEVICE. */
  readonly device: string;
  /** The providers that it stands for, in order. */
  readonly providers: readonly Provider[];
  readonly threads: number | undefined;
}

/** Checks that a provider is installed. Whether it runs a graph is known only after the graph was loaded. */
export function checkProviders({ device, providers }: DeviceChoice): Check {
  const name = 'providers';
  const installed = providers.filter((provider) => missingLibrary(provider) === undefined);
  const wanted = device === 'auto' ? AUTO_PROVIDERS : providers;
  const missing = wanted.filter((provider) => !installed.includes(provider));
  const detail = `${device}: ${installed.join(', ') || 'none'} installed${missing.length > 0 ? `, ${missing.join(', ')} not` : ''}`;
  if (installed.length > 0) return { name, state: 'ok', detail };
  const advice =
    "Install ONNX Runtime's library for the provider (as in infra/docker/worker-cuda.Dockerfile), or set LEHR_DEVICE.";
  return { name, state: 'fail', detail, advice };
}

/** One check for each version of each model of these tasks. */
export async function* checkModels(
  registry: Registry,
  places: ModelPlaces,
  tasks: readonly Task[],
  choice: DeviceChoice,
): AsyncGenerator<Check, undefined> {
  for (const model of registry.models) {
    if (!tasks.includes(model.task)) continue;
    for (const version of model.versions) {
      const variant = model.task === 'diffusion' ? undefined : model.variant;
      yield await openCheck(
        `${model.name}@${version.version}`,
        model.task,
        { folder: versionFolder(version, places), variant },
        choice,
      );
    }
  }
}

interface ModelFolder {
  readonly folder: string;
  readonly variant: string | undefined;
}

async function openCheck(
  ref: string,
  task: Task,
  { folder, variant }: ModelFolder,
  { providers, threads }: DeviceChoice,
): Promise<Check> {
  const name = `opens ${ref}`;
  const options = { providers, ...(threads !== undefined && { threads }), ...(variant && { variant }) };
  const startedAt = performance.now();
  try {
    const { graphs, close } = await openFolder(task, folder, onnxRuntime, options);
    await close();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const placed = graphs.map(({ graph, provider }) => `${graph} on ${provider}`).join(', ');
    const detail = `${placed} (${seconds} s)`;
    const refused = graphs.flatMap(({ graph, refusals = [] }) =>
      refusals.map((reason) => `${graph}: ${reason}`),
    );
    if (refused.length === 0) return { name, state: 'ok', detail };
    return {
      name,
      state: 'warn',
      detail,
      advice: `A preferred provider refused it: ${refused.join('; ')}`,
    };
  } catch (error) {
    const advice = `The folder is ${folder}. docs/models.md says which files it must have.`;
    return { name, state: 'fail', detail: (error as Error).message, advice };
  }
}
