/**
 * Runs every graph of a Whisper model before anybody waits for it, and measures how long a call takes with how many
 * windows, as far up as more of them still pay: for the encoder and for the decoder, whose knees lie far apart.
 */
import type { Clock } from '@lehr/shared';
import type { WhisperModel } from '../models/whisper/whisper-folder.ts';
import { ROW_LADDER, RowCap, worthWidening } from './row-cap.ts';

export interface WhisperCaps {
  readonly encoder: RowCap;
  readonly decoder: RowCap;
}

/** A ladder that would take longer is cut short; what was not measured is learned while serving. */
const BUDGET_MS = 60_000;
/** Keys and values of the audio weigh much more than anything else a row has; this is for all rows of a batch. */
const MAX_BATCH_BYTES = 2 * 2 ** 30;
/** More windows in one encoder call would hold up the decoder for too long, whatever they gain. */
const MAX_ENCODED = 8;

export async function warmUpWhisper(
  model: WhisperModel,
  rowCap: number | 'auto',
  clock: Clock,
): Promise<WhisperCaps> {
  const ceiling = Math.max(1, Math.floor(MAX_BATCH_BYTES / bytesPerRow(model)));
  const decoder =
    rowCap === 'auto'
      ? new RowCap({ ceiling: Math.min(ceiling, MOST_ROWS) })
      : new RowCap({ ceiling: rowCap, fixed: true });
  const encoder = new RowCap({ ceiling: Math.min(MAX_ENCODED, decoder.ceiling) });
  const { melBins, windowFrames } = model.frontEnd;
  const mel = new Float32Array(melBins * windowFrames);
  const { floatType } = model.decoder.sizes;
  await climb(encoder, clock, (rows) => model.encoder.encode(new Array(rows).fill(mel), floatType));
  await climb(decoder, clock, stepper(model, await model.encoder.encode([mel], floatType)));
  return { encoder, decoder };
}
const MOST_ROWS = ROW_LADDER[ROW_LADDER.length - 1];

function bytesPerRow({ decoder: { sizes } }: WhisperModel): number {
  const { layers, heads, headSize, audioPositions, floatType } = sizes;
  return 2 * layers * heads * headSize * audioPositions * (floatType === 'float32' ? 4 : 2);
}

/** Writes a token for so many copies of one window. */
function stepper(
  { decoder, tokenizer }: WhisperModel,
  [features]: Awaited<ReturnType<WhisperModel['encoder']['encode']>>,
) {
  const batch = decoder.newBatch();
  const { start } = tokenizer.special;
  return async (rows: number): Promise<void> => {
    if (batch.rows < rows) {
      const state = (await decoder.start([[start]], [features])).state(0);
      // Rows that came earlier have written more; an aligned batch takes only equals.
      while (batch.rows > 0) batch.remove(0);
      while (batch.rows < rows) batch.push(state);
    }
    await decoder.step(batch, new Array<number>(rows).fill(start));
    batch.advance();
  };
}

/** Measures one rung after the other while each gains something; the first rung that fails is the device's limit. */
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
