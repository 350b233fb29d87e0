/** Pictures per second of Lehr's engine beside a bare loop of the same graphs, in turns. */
import { join } from 'node:path';
import { env, InferenceSession, Tensor } from 'onnxruntime-node';
import type { Provider } from '../../apps/worker/src/engine/runtime/runtime.ts';
import { type Spread, spreadOf } from './figures.ts';
import { openPictureEngine } from './picture-engine.ts';

const SIDE = 512;
const STEPS = 20;
const ROUNDS = 3;
const TEXT = { tokens: 77, width: 768 };

export interface PictureRates {
  /** As measured when the model was opened. */
  readonly rowCap: number;
  readonly picturesAtOnce: number;
  readonly lehr: Spread;
  readonly bare: Spread;
  /** Of Lehr over the bare loop, round by round. */
  readonly ratio: Spread;
}

/** The model takes float16. With guidance, so two rows for each picture; the bare loop draws as many pictures at once as Lehr. */
export async function pictureRates(folder: string, provider: Provider): Promise<PictureRates> {
  const engine = await openPictureEngine({ folder, providers: [provider], rowCap: 'auto', side: SIDE });
  const { rowCap } = engine.opened;
  const atOnce = Math.max(1, Math.floor(rowCap / 2));
  const pictures = 2 * atOnce;
  const bare = await openBare(folder, provider);
  const request = { width: SIDE, height: SIDE, steps: STEPS, guidance: 7.5 };
  const [lehr, loop, ratio]: number[][] = [[], [], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const startedAt = performance.now();
    const ends = await engine.draw(Array.from({ length: pictures }, () => request));
    const ours = (1000 * pictures) / (performance.now() - startedAt);
    const failed = ends.find((end) => end instanceof Error);
    if (failed) throw failed;
    const theirs = (1000 * pictures) / (await bare.draw(pictures, atOnce));
    if (round === 0) continue;
    lehr.push(ours);
    loop.push(theirs);
    ratio.push(ours / theirs);
  }
  await engine.close();
  await bare.close();
  return {
    rowCap,
    picturesAtOnce: atOnce,
    lehr: spreadOf(lehr),
    bare: spreadOf(loop),
    ratio: spreadOf(ratio),
  };
}

async function openBare(folder: string, provider: Provider) {
  env.logLevel = 'error';
  const load = (graph: string) =>
    InferenceSession.create(join(folder, graph, 'model.onnx'), { executionProviders: [provider] });
  const [unet, vae] = [await load('unet'), await load('vae_decoder')];
  const halves = (dims: readonly number[]) =>
    new Tensor('float16', new Uint16Array(dims.reduce((a, b) => a * b)).fill(0x2e66), dims);
  return {
    /** Ms to draw so many pictures, `batch` at a time. */
    draw: async (pictures: number, batch: number): Promise<number> => {
      const startedAt = performance.now();
      for (let drawn = 0; drawn < pictures; drawn += batch) {
        const rows = 2 * batch;
        const sample = halves([rows, 4, SIDE / 8, SIDE / 8]);
        const text = halves([rows, TEXT.tokens, TEXT.width]);
        for (let step = 0; step < STEPS; step++) {
          const timestep = new Tensor('int64', BigInt64Array.of(BigInt(999 - 50 * step)), []);
          await unet.run({ sample, timestep, encoder_hidden_states: text });
        }
        for (let i = 0; i < batch; i++) await vae.run({ latent_sample: halves([1, 4, SIDE / 8, SIDE / 8]) });
      }
      return performance.now() - startedAt;
    },
    close: async () => {
      for (const session of [unet, vae]) await session.release();
    },
  };
}
