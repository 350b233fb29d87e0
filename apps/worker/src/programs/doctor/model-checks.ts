/** Checks that the models open on the chosen device, by opening them. */
import {
  companionRef,
  type DiffusionModelEntry,
  formatModelRef,
  type ModelEntry,
  type Registry,
  type Task,
  versionsOf,
} from '@lehr/shared';
import { type ModelPlaces, partFiles, versionFolder } from '@lehr/shared/model-cache';
import { type OpenFolder, openFolder, optionsOfEntry } from '../../engine/models/open-folder.ts';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import { AUTO_PROVIDERS, missingLibrary } from '../../engine/runtime/provider-library.ts';
import type { Provider } from '../../engine/runtime/runtime.ts';
import { labelProblem } from '../../parent/runs/safety.ts';
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
  const labels = new Map<string, readonly string[]>();
  for (const { model, version, ref } of versionsOf(registry, tasks)) {
    const noteLabels = (known: readonly string[]): void => void labels.set(ref, known);
    const opened = {
      ref,
      model,
      folder: versionFolder(version, places),
      parts: partFiles(model, places),
    };
    yield await openCheck(opened, choice, noteLabels);
  }
  for (const model of registry.models) {
    if (model.task !== 'diffusion' || !model.safety || !tasks.includes(model.task)) continue;
    const checker = formatModelRef(companionRef(registry, model.safety.model));
    const known = labels.get(checker);
    // Where it could not be opened, a check above says so.
    if (known) yield safetyCheck(model.name, model.safety, checker, known);
  }
}

/** Whether the pictures of a model can be found unsafe. */
function safetyCheck(
  model: string,
  { mode, labels, threshold }: NonNullable<DiffusionModelEntry['safety']>,
  checker: string,
  known: readonly string[],
): Check {
  const name = `safety of ${model}`;
  const problem = labelProblem(labels, known);
  if (problem !== undefined) {
    const advice = 'Set safety.labels of the model in models.yaml.';
    return { name, state: 'fail', detail: `${checker} ${problem}`, advice };
  }
  return { name, state: 'ok', detail: `${mode}; ${checker} finds ${labels.join(', ')} from ${threshold}` };
}

interface ModelToCheck {
  readonly ref: string;
  readonly model: ModelEntry;
  readonly folder: string;
  readonly parts: ReturnType<typeof partFiles>;
}

async function openCheck(
  { ref, model, folder, parts }: ModelToCheck,
  { providers, threads }: DeviceChoice,
  onLabels: (known: readonly string[]) => void,
): Promise<Check> {
  const name = `opens ${ref}`;
  const options = {
    providers,
    ...(threads !== undefined && { threads }),
    ...optionsOfEntry(model),
    ...parts,
  };
  const startedAt = performance.now();
  try {
    const opened = await openFolder(model.task, folder, onnxRuntime, options);
    const { graphs, labels } = opened;
    await opened.close();
    if (labels) onLabels(labels);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const placed = graphs.map(({ graph, provider }) => `${graph} on ${provider}`).join(', ');
    const detail = `${placed} (${seconds} s)`;
    const refused = graphs.flatMap(({ graph, refusals = [] }) =>
      refusals.map((reason) => `${graph}: ${reason}`),
    );
    const unusable = [
      ...problemsOf('adapter', opened.adapters),
      ...problemsOf('ControlNet', opened.controls),
    ];
    const faults = [
      ...(refused.length > 0 ? [`A preferred provider refused it: ${refused.join('; ')}`] : []),
      ...unusable,
    ];
    if (faults.length === 0) return { name, state: 'ok', detail };
    return { name, state: 'warn', detail, advice: faults.join(' ') };
  } catch (error) {
    const advice = `The folder is ${folder}. docs/models.md says which files it must have.`;
    return { name, state: 'fail', detail: (error as Error).message, advice };
  }
}

const problemsOf = (kind: string, parts: OpenFolder['adapters'] = []): string[] =>
  parts.flatMap(({ name, problem }) =>
    problem === undefined ? [] : [`The ${kind} ${name} cannot be used: ${problem}`],
  );
