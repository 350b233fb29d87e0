/** A device that runs out of memory above a number of UNet rows, and whose UNet returns NaN for the prompt NAN_PROMPT. */
import type { InferenceRuntime, RuntimeSession } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { floatTensor, floatValues, type Tensor } from '../../apps/worker/src/engine/runtime/tensor.ts';
import { LehrError } from '../../packages/shared/src/index.ts';

/** Its token ids repeat, by which the device knows it: it never sees the text. */
export const NAN_PROMPT = 'NAN '.repeat(20).trim();

/** The first value of its prompt embedding. */
const MARK = 12_345;
/** Tokens of one word of the prompt, at most. */
const MAX_PERIOD = 4;
const COMPARED = 12;

type Feeds = Readonly<Record<string, Tensor>>;
type Results = Record<string, Tensor>;

export function faultyDevice(device: InferenceRuntime, maxRows: number): InferenceRuntime {
  return {
    load: async (graph, options) => {
      const session = await device.load(graph, options);
      const inputs = session.inputs.map(({ name }) => name);
      if (inputs.includes('input_ids')) return changed(session, markEmbeddings);
      if (inputs.includes('encoder_hidden_states')) return changed(session, spoilPredictions, maxRows);
      return session;
    },
  };
}

function changed(
  session: RuntimeSession,
  change: (feeds: Feeds, results: Results) => Results,
  maxRows = Number.POSITIVE_INFINITY,
): RuntimeSession {
  const run: RuntimeSession['run'] = async (feeds, outputs) => {
    const rows = feeds[session.inputs[0].name].dims[0];
    if (rows > maxRows)
      throw new LehrError('out-of-memory', `The device has memory for ${maxRows} rows, not for ${rows}.`);
    return change(feeds, await session.run(feeds, outputs));
  };
  const { provider, refusals, inputs, outputs, placement } = session;
  return { provider, refusals, inputs, outputs, placement, run, close: () => session.close() };
}

function markEmbeddings({ input_ids: ids }: Feeds, results: Results): Results {
  const [rows, tokens] = ids.dims;
  return eachFloat(results, (values) => {
    for (let row = 0; row < rows; row++) {
      const ofRow = Array.from({ length: tokens }, (_, i) => Number(ids.data[row * tokens + i]));
      if (isNanPrompt(ofRow)) values[(row * values.length) / rows] = MARK;
    }
  });
}

function isNanPrompt(ids: readonly number[]): boolean {
  const isPadding = ids[1] === ids.at(-1);
  return (
    !isPadding &&
    Array.from({ length: MAX_PERIOD }, (_, i) => i + 1).some((period) =>
      ids.slice(1, 1 + COMPARED).every((id, i) => id === ids[1 + i + period]),
    )
  );
}

function spoilPredictions({ encoder_hidden_states: texts }: Feeds, results: Results): Results {
  const [rows] = texts.dims;
  const marks = floatValues(texts);
  return eachFloat(results, (values) => {
    for (let row = 0; row < rows; row++) {
      if (marks[(row * marks.length) / rows] !== MARK) continue;
      values.fill(Number.NaN, (row * values.length) / rows, ((row + 1) * values.length) / rows);
    }
  });
}

function eachFloat(results: Results, change: (values: Float32Array) => void): Results {
  return Object.fromEntries(
    Object.entries(results).map(([name, tensor]) => {
      if (tensor.type !== 'float32' && tensor.type !== 'float16') return [name, tensor];
      const values = floatValues(tensor).slice();
      change(values);
      return [name, floatTensor(tensor.type, values, tensor.dims)];
    }),
  );
}
