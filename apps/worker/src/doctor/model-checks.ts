/** Whether the models open on the devices that are wanted, by opening them. */
import { join } from 'node:path';
import type { Registry, Task } from '@lehr/shared';
import { openDiffusionModel } from '../models/diffusion/diffusion-folder.ts';
import { openWhisperModel } from '../models/whisper/whisper-folder.ts';
import { onnxRuntime } from '../runtime/onnx.ts';
import { missingLibrary } from '../runtime/provider-library.ts';
import type { Provider } from '../runtime/runtime.ts';
import type { Check } from './check.ts';

export interface DeviceWish {
  /** LEHR_DEVICE. */
  readonly device: string;
  /** What it stands for, in order. */
  readonly providers: readonly Provider[];
  readonly threads: number | undefined;
}

/** Which providers are installed; whether one takes a graph is only known when it gets one. */
export function checkProviders({ device, providers }: DeviceWish): Check {
  const name = 'providers';
  const missing = providers.filter((provider) => missingLibrary(provider) !== undefined);
  const there = providers.filter((provider) => !missing.includes(provider));
  const detail = `${device}: ${there.join(', ') || 'none'} installed${missing.length > 0 ? `, ${missing.join(', ')} not` : ''}`;
  if (there.length > 0) return { name, state: 'ok', detail };
  const advice =
    "Install ONNX Runtime's library for it (infra/docker/worker-cuda.Dockerfile shows how), or set LEHR_DEVICE.";
  return { name, state: 'fail', detail, advice };
}

/** One check for each version, of the tasks that a worker here would serve. */
export async function* checkModels(
  registry: Registry,
  folder: string,
  tasks: readonly Task[],
  wish: DeviceWish,
): AsyncGenerator<Check, undefined> {
  for (const model of registry.models) {
    if (!tasks.includes(model.task)) continue;
    for (const { version, path } of model.versions) {
      const variant = model.task === 'whisper' ? model.variant : undefined;
      yield await opens(
        `${model.name}@${version}`,
        model.task,
        { folder: join(folder, path), variant },
        wish,
      );
    }
  }
}

interface Place {
  readonly folder: string;
  readonly variant: string | undefined;
}

async function opens(
  ref: string,
  task: Task,
  { folder, variant }: Place,
  { providers, threads }: DeviceWish,
): Promise<Check> {
  const name = `opens ${ref}`;
  const options = { providers, ...(threads !== undefined && { threads }), ...(variant && { variant }) };
  const startedAt = performance.now();
  try {
    const open = task === 'whisper' ? openWhisperModel : openDiffusionModel;
    const { graphs, close } = await open(folder, onnxRuntime, options);
    await close();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const placed = graphs.map(({ graph, provider }) => `${graph} on ${provider}`).join(', ');
    const detail = `${placed} (${seconds} s)`;
    const refused = graphs.flatMap(({ graph, refusals = [] }) =>
      // A provider that is not installed was not refused by this model.
      refusals.filter((each) => !each.includes('is not installed')).map((why) => `${graph}: ${why}`),
    );
    if (refused.length === 0) return { name, state: 'ok', detail };
    return {
      name,
      state: 'warn',
      detail,
      advice: `A better provider did not take it: ${refused.join('; ')}`,
    };
  } catch (error) {
    const advice = `The folder is ${folder}; README.md, Models, says what must be in it.`;
    return { name, state: 'fail', detail: (error as Error).message, advice };
  }
}
