/**
 * The baseline of the benches: a bare loop over the graphs with ONNX Runtime. It has the same graphs, rows and threads as
 * Lehr, and no queue, sampler, guidance, file or store. Its threads spin while they wait, as by default; those of Lehr's diffusion only for 20 µs.
 */
import { join } from 'node:path';
import * as ort from 'onnxruntime-node';

export interface BareLoop {
  /** Ms to draw `pictures` pictures with two rows each, `batch` pictures at a time. */
  draw(pictures: number, batch: number, steps: number): Promise<number>;
  close(): Promise<void>;
}

/** The graphs in `folder` must take float32 latents and prompts of 77 tokens, like the demo model. */
export async function openBareLoop(
  folder: string,
  size: { width: number; height: number },
): Promise<BareLoop> {
  const load = (graph: string) => ort.InferenceSession.create(join(folder, graph, 'model.onnx'));
  const [text, unet, vae] = [await load('text_encoder'), await load('unet'), await load('vae_decoder')];
  const ids = numbers(text, 'input_ids', new Array<number>(77).fill(1), [1, 77]);
  const { last_hidden_state: hidden } = await text.run({ input_ids: ids });
  const [height, width] = [size.height / 8, size.width / 8];
  const latents = (rows: number) =>
    new ort.Tensor('float32', new Float32Array(rows * 4 * height * width).fill(0.1), [
      rows,
      4,
      height,
      width,
    ]);
  const embeddings = (rows: number) => {
    const one = hidden.data as Float32Array;
    const all = new Float32Array(rows * one.length);
    for (let row = 0; row < rows; row++) all.set(one, row * one.length);
    return new ort.Tensor('float32', all, [rows, ...hidden.dims.slice(1)]);
  };
  return {
    draw: async (pictures, batch, steps) => {
      const startedAt = performance.now();
      for (let drawn = 0; drawn < pictures; drawn += batch) {
        const together = Math.min(batch, pictures - drawn);
        for (let i = 0; i < together; i++) await text.run({ input_ids: ids });
        const feeds = { sample: latents(2 * together), encoder_hidden_states: embeddings(2 * together) };
        for (let step = 0; step < steps; step++) {
          const timestep = numbers(unet, 'timestep', [999 - step], []);
          await unet.run({ ...feeds, timestep });
        }
        for (let i = 0; i < together; i++) await vae.run({ latent_sample: latents(1) });
      }
      return performance.now() - startedAt;
    },
    close: async () => {
      for (const session of [text, unet, vae]) await session.release();
    },
  };
}

/** A tensor of the type that this input of the graph takes. */
function numbers(
  session: ort.InferenceSession,
  input: string,
  values: readonly number[],
  dims: readonly number[],
): ort.Tensor {
  const metadata = session.inputMetadata.find(({ name }) => name === input);
  const type = metadata?.isTensor ? metadata.type : undefined;
  if (type === 'float32') return new ort.Tensor(type, Float32Array.from(values), dims);
  if (type === 'int32') return new ort.Tensor(type, Int32Array.from(values), dims);
  if (type === 'int64') return new ort.Tensor(type, BigInt64Array.from(values, BigInt), dims);
  throw new Error(`The input ${input} is of type ${type}, wanted float32, int32 or int64.`);
}
