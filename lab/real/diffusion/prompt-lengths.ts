/** What a step costs with prompts of one chunk and of several: Lehr's UNet of Stable Diffusion 1.5 at full width. */
import { join } from 'node:path';
import { interleaved, ratioRow } from '../peers/interleaved.ts';
import type { Bench, Row } from '../section.ts';
import { fullSize } from './full-size.ts';
import { openUnet, timed, UNET_TEXT } from './step-time.ts';

const ROUNDS = 5;
const CHUNKS = [1, 3, 8] as const;

/** One row, in turns: the first number of chunks is the baseline. */
export async function promptLengths(bench: Bench): Promise<readonly Row[]> {
  const { unet } = await openUnet(join(await fullSize(bench, 'sd15'), 'onnx'));
  const rows: Row[] = [];
  try {
    for (const side of [256, 512]) {
      const size = { height: side / 8, width: side / 8 };
      const latent = new Float32Array(4 * size.height * size.width).fill(0.5);
      const times = await interleaved(CHUNKS, ROUNDS, async (chunks) => {
        // The time of a step does not depend on the values.
        const promptEmbedding = new Float32Array(chunks * UNET_TEXT.tokens * UNET_TEXT.width).fill(0.5);
        const { cpu_seconds } = await timed(() =>
          unet.predict([{ latent, timestep: 500, promptEmbedding }], size),
        );
        bench.say(`${side}x${side}, ${chunks} chunks: ${cpu_seconds.toFixed(2)} s of CPU time`);
        return cpu_seconds;
      });
      const [one, ...longer] = times;
      for (const { side: chunks, values } of longer) {
        rows.push(
          ratioRow(
            `${side}x${side}, one row, a step with ${chunks} chunks (left) beside one chunk: CPU time with one thread`,
            values,
            one.values,
            { unit: 's' },
          ),
        );
      }
    }
  } finally {
    await unet.close();
  }
  return rows;
}
