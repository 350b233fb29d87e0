/**
 * Records the first run of each graph while a model is opened, so that another form of the graph can run on the same inputs. The graphs are
 * opened as their files have them, without fused attentions: that is what other forms are compared with.
 */
import type { GraphSource, InferenceRuntime, LoadOptions, RuntimeSession } from '../../runtime/runtime.ts';
import { floatValues, largestDifference, type Tensor } from '../../runtime/tensor.ts';

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

/**
 * The largest difference of two outputs as a share of the largest value of the first. Infinite when they differ in type or size, when
 * a value is not finite, and when whole numbers are not equal.
 */
export function shareOfDifference(wanted: Tensor, found: Tensor): number {
  if (wanted.type !== found.type || wanted.dims.join() !== found.dims.join()) return Number.POSITIVE_INFINITY;
  if (wanted.type !== 'float32' && wanted.type !== 'float16') {
    const isSame = wanted.data.every((value, i) => value === found.data[i]);
    return isSame ? 0 : Number.POSITIVE_INFINITY;
  }
  const [a, b] = [floatValues(wanted), floatValues(found)];
  const difference = largestDifference(a, b);
  const largest = a.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return difference === 0 ? 0 : difference / largest;
}
