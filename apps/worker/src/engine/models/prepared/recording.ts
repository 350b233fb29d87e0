/**
 * Records the first run of each graph while a model is opened, so that another form of the graph can run on the same inputs. The graphs are
 * opened as their files have them, without fused attentions: that is what other forms are compared with.
 */
import type { GraphSource, InferenceRuntime, LoadOptions, RuntimeSession } from '../../runtime/runtime.ts';
import type { Tensor } from '../../runtime/tensor.ts';

export interface Recorded {
  readonly source: GraphSource;
  readonly options: LoadOptions;
  /** Of the first run. */
  run?: {
    readonly feeds: Readonly<Record<string, Tensor>>;
    readonly outputs: Readonly<Record<string, Tensor>>;
  };
  isClosed: boolean;
}

/** Without a version, so that nothing prepared earlier is used. */
export function recording(runtime: InferenceRuntime, recorded: Recorded[]): InferenceRuntime {
  return {
    async load(source, options) {
      const session = await runtime.load(source, { ...options, fuses: false });
      const entry: Recorded = { source, options, isClosed: false };
      recorded.push(entry);
      const watched: RuntimeSession = {
        provider: session.provider,
        refusals: session.refusals,
        inputs: session.inputs,
        outputs: session.outputs,
        get placement() {
          return session.placement;
        },
        async run(feeds, names) {
          // Copies, because the arrays of feeds are used again.
          const copies = entry.run ? feeds : structuredClone(feeds);
          const outputs = await session.run(feeds, names);
          entry.run ??= { feeds: copies, outputs: structuredClone(outputs) };
          return outputs;
        },
        close() {
          entry.isClosed = true;
          return session.close();
        },
      };
      return watched;
    },
  };
}
