/** `lehr models check`: opens a folder, which runs every graph once, and describes what was opened. */
import { openFolder, taskOfFolder } from '../../engine/models/open-folder.ts';
import { onnxRuntime } from '../../engine/runtime/onnx.ts';
import type { InferenceRuntime, RuntimeSession, ValueInfo } from '../../engine/runtime/runtime.ts';
import type { GraphCheck, ToolEvent } from './tool-event.ts';
import type { ToolSettings } from './tool-settings.ts';

export interface CheckRequest {
  /** Absolute. */
  readonly folder: string;
  readonly variant?: string | undefined;
}

export async function check(
  { folder, variant }: CheckRequest,
  { providers, threads }: ToolSettings,
): Promise<ToolEvent> {
  const graphs: Measured[] = [];
  const runtime = measuring(onnxRuntime, folder, graphs);
  const options = { providers, ...(threads !== undefined && { threads }) };
  const task = taskOfFolder(folder);
  const memoryBefore = process.memoryUsage().rss;
  const startedAt = performance.now();
  const opened = await openFolder(task, folder, runtime, {
    ...options,
    ...(variant && { variant: `_${variant}` }),
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
    open_ms: Math.round(openMs),
    memory_bytes: Math.max(0, memory),
  };
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
      const path = (graph.prepared?.from ?? graph.path).slice(folder.length + 1);
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
