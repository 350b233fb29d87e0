/**
 * Warm-up of a Whisper model, before it serves any job: runs every graph and measures the duration of a call by its number
 * of windows, for as long as more windows increase the throughput. Encoder and decoder are measured separately, because their
 * knees differ a lot.
 */
import type { Clock } from '@lehr/shared';
import type { WhisperModel } from '../../models/whisper/whisper-folder.ts';
import { ROW_LADDER, RowCap, worthWidening } from '../row-cap.ts';

export interface WhisperCaps {
  readonly encoder: RowCap;
  readonly decoder: RowCap;
}

/** A ladder stops after this time; the rest is measured while serving. */
const BUDGET_MS = 60_000;
/** Memory for the keys and values of the audio of all rows of a batch: they are by far the largest part of a row. */
const MAX_BATCH_BYTES = 2 * 2 ** 30;
/** Encoder calls with more windows would delay the decoder for too long. */
const MAX_ENCODER_ROWS = 8;

export async function warmUpWhisper(
  model: WhisperModel,
  rowCap: number | 'auto',
  clock: Clock,
): Promise<WhisperCaps> {
  const ceiling = Math.max(1, Math.floor(MAX_BATCH_BYTES / bytesPerRow(model)));
  const decoder =
    rowCap === 'auto'
      ? new RowCap({ ceiling: Math.min(ceiling, MAX_DECODER_ROWS) })
      : new RowCap({ ceiling: rowCap, fixed: true });
  const encoder = new RowCap({ ceiling: Math.min(MAX_ENCODER_ROWS, decoder.ceiling) });
  const { melBins, windowFrames } = model.frontEnd;
  const mel = new Float32Array(melBins * windowFrames);
  const { floatType } = model.decoder.sizes;
  await climb(encoder, clock, (rows) => model.encoder.encode(new Array(rows).fill(mel), floatType));
  await climb(decoder, clock, decoderStepper(model, await model.encoder.encode([mel], floatType)));
  return { encoder, decoder };
}
const MAX_DECODER_ROWS = ROW_LADDER[ROW_LADDER.length - 1];

function bytesPerRow({ decoder: { sizes } }: WhisperModel): number {
  const { layers, heads, headSize, audioPositions, floatType } = sizes;
  return 2 * layers * heads * headSize * audioPositions * (floatType === 'float32' ? 4 : 2);
}

/** Makes a function that writes one token for each of `windows` copies of one window. */
function decoderStepper(
  { decoder, tokenizer }: WhisperModel,
  [features]: Awaited<ReturnType<WhisperModel['encoder']['encode']>>,
) {
  const batch = decoder.newBatch();
  const { start } = tokenizer.special;
  return async (rows: number): Promise<void> => {
    if (batch.rows < rows) {
      const state = (await decoder.start([[start]], [features])).state(0);
      // The earlier rows are longer by now, and all rows of an aligned batch must be of equal length.
      while (batch.rows > 0) batch.remove(0);
      while (batch.rows < rows) batch.push(state);
    }
    await decoder.step(batch, new Array<number>(rows).fill(start));
    batch.advance();
  };
}

/** Measures rung after rung while the throughput increases; a rung that fails exceeds the device's memory. */
async function climb(cap: RowCap, clock: Clock, run: (rows: number) => Promise<unknown>): Promise<void> {
  const startedAt = clock.monotonic();
  for (const rows of ROW_LADDER) {
    const isOverBudget = clock.monotonic() - startedAt > BUDGET_MS;
    if (isOverBudget || rows > cap.ceiling || !worthWidening(cap.measurements)) break;
    try {
      // The first run of a shape allocates and, on some providers, tunes.
      await run(rows);
      const measuredFrom = clock.monotonic();
      await run(rows);
      cap.observe(rows, clock.monotonic() - measuredFrom);
    } catch (error) {
      if (rows === 1) throw error;
      cap.limit(rows / 2);
      break;
    }
  }
}
