/** `lehr models check`: opens a folder, which runs every graph once, and describes what was opened. */
import { relative } from 'node:path';
import { partFiles, versionFolder } from '@lehr/shared/model-cache';
import { type OpenFolder, openFolder, taskOfFolder } from '../../engine/models/open-folder.ts';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import type { InferenceRuntime, RuntimeSession, ValueInfo } from '../../engine/runtime/runtime.ts';
import { listParts } from './list-parts.ts';
import type { GraphCheck, ListedPart, ToolEvent } from './tool-event.ts';
import { placesOf, readModelsFile, type ToolSettings } from './tool-settings.ts';

export interface CheckRequest {
  /** Absolute. */
  readonly folder: string;
  readonly variant?: string | undefined;
}

export async function check({ folder, variant }: CheckRequest, settings: ToolSettings): Promise<ToolEvent> {
  const { providers, threads } = settings;
  const graphs: Measured[] = [];
  const runtime = measuring(onnxRuntime, folder, graphs);
  const options = { providers, ...(threads !== undefined && { threads }) };
  const task = taskOfFolder(folder);
  const model = await modelWithParts(folder, settings);
  const memoryBefore = process.memoryUsage().rss;
  const startedAt = performance.now();
  const opened = await openFolder(task, folder, runtime, {
    ...options,
    ...(variant && { variant: `_${variant}` }),
    ...(model && partFiles(model, placesOf(settings))),
  });
  const openMs = performance.now() - startedAt;
  const memory = process.memoryUsage().rss - memoryBefore;
  await opened.close();
  return {
    type: 'checked',
    folder,
    task,
    batching: opened.batching,
    // A graph that was tried in a form that did not work was closed again.
    graphs: graphs.filter(({ isClosedEarly }) => !isClosedEarly()).map(({ described }) => described()),
    parts: model ? withProblems(await listParts(model, placesOf(settings)), opened) : [],
    open_ms: Math.round(openMs),
    memory_bytes: Math.max(0, memory),
  };
}

/** The first model of models.yaml that has this folder, and adapters or ControlNets. */
async function modelWithParts(folder: string, settings: ToolSettings) {
  const places = placesOf(settings);
  return (await readModelsFile(settings))?.models.find((model) => {
    const { adapters, controls } = partFiles(model, places);
    const isHere = model.versions.some((version) => versionFolder(version, places) === folder);
    return isHere && adapters.length + controls.length > 0;
  });
}

/** What was found when the model was opened with them. */
function withProblems(parts: readonly ListedPart[], { adapters, controls }: OpenFolder): ListedPart[] {
  return parts.map((part) => {
    const opened = (part.kind === 'adapter' ? adapters : controls)?.find(({ name }) => name === part.name);
    if (opened?.problem === undefined || part.state === 'missing') return part;
    return { ...part, state: 'unusable', problem: opened.problem };
  });
}

interface Measured {
  isClosedEarly(): boolean;
  described(): GraphCheck;
}

/** A runtime that notes how long each graph takes to load and to run for the first time. */
function measuring(runtime: InferenceRuntime, folder: string, graphs: Measured[]): InferenceRuntime {
  return {
    ...runtime,
    async load(graph, options) {
      const startedAt = performance.now();
      const session = await runtime.load(graph, options);
      const loadMs = Math.round(performance.now() - startedAt);
      let firstRunMs: number | null = null;
      let closedAt: number | undefined;
      const measured: RuntimeSession = {
        get provider() {
          return session.provider;
        },
        get placement() {
          return session.placement;
        },
        refusals: session.refusals,
        ...(session.isPrepared && { isPrepared: true }),
        ...(session.fusion && { fusion: session.fusion }),
        inputs: session.inputs,
        outputs: session.outputs,
        async run(feeds, outputs) {
          const runAt = performance.now();
          const results = await session.run(feeds, outputs);
          firstRunMs ??= Math.round((performance.now() - runAt) * 10) / 10;
          return results;
        },
        close() {
          closedAt = graphs.length;
          return session.close();
        },
      };
      const path = relative(folder, graph.prepared?.from ?? graph.path);
      const isRewired = graph.bytes !== undefined || graph.prepared?.isRewired;
      graphs.push({
        // Closed before the last graph was loaded.
        isClosedEarly: () => closedAt !== undefined && closedAt < graphs.length,
        described: () => ({
          graph: `${path}${isRewired ? ' (rewired)' : ''}${graph.prepared ? ' (prepared)' : ''}`,
          provider: session.provider,
          inputs: session.inputs.map(valueText),
          outputs: session.outputs.map(valueText),
          ...(session.fusion && { fusion: session.fusion }),
          load_ms: loadMs,
          first_run_ms: firstRunMs,
        }),
      });
      return measured;
    },
  };
}

const valueText = ({ name, type, dims }: ValueInfo): string =>
  `${name} ${type}[${dims.map((dim) => (dim === '' ? '?' : dim)).join(',')}]`;
