/** ONNX Runtime with a clock: how long each run of a graph takes, copies to and from the device included. */
import { onnxRuntime } from '../../apps/worker/src/engine/runtime/onnx.ts';
import type { InferenceRuntime } from '../../apps/worker/src/engine/runtime/runtime.ts';

export interface TimedRun {
  readonly path: string;
  readonly ms: number;
}

/** Appends each run to `runs`. */
export const timedRuntime = (runs: TimedRun[]): InferenceRuntime => ({
  load: async (graph, options) => {
    const session = await onnxRuntime.load(graph, options);
    return {
      provider: session.provider,
      refusals: session.refusals,
      inputs: session.inputs,
      outputs: session.outputs,
      get placement() {
        return session.placement;
      },
      run: async (feeds, outputs) => {
        const startedAt = performance.now();
        try {
          return await session.run(feeds, outputs);
        } finally {
          runs.push({ path: graph.path, ms: performance.now() - startedAt });
        }
      },
      close: () => session.close(),
    };
  },
});
