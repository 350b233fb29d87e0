/** The Whisper part of the engine: its open models, their warm-up and a lane for each. */
import type { Clock } from '@lehr/shared';
import { closeOnFailure } from '../../folder/open-whole.ts';
import { ModelLanes, openedModel, tunedSettings } from '../../lanes/model-lanes.ts';
import { climbLadder, ladderFor, ROW_LADDER, RowCap } from '../../lanes/row-cap.ts';
import type { OpenedModel, WhisperSample, WhisperToOpen } from '../../protocol/messages.ts';
import type { GraphReport } from '../../runtime/runtime.ts';
import type { DecoderSizes } from '../decoder-graphs.ts';
import { openWhisperModel, type WhisperModel } from '../folder/whisper-folder.ts';
import { WhisperLane } from './whisper-lane.ts';

interface OpenModel {
  readonly model: WhisperModel;
  readonly caps: WhisperCaps;
}

export class WhisperLanes extends ModelLanes<OpenModel, WhisperSample, WhisperLane> {
  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open({ ref, folder, variant, tuned }: WhisperToOpen): Promise<OpenedModel> {
    const { runtime, clock } = this.parts;
    const settings = tunedSettings(this.parts.settings, tuned);
    const model = await openWhisperModel(folder, runtime, { ...(variant && { variant }), ...settings });
    const loadedAt = clock.monotonic();
    const caps = await closeOnFailure(model, () => warmUpWhisper(model, settings.rowCap, clock));
    const warmUpMs = clock.monotonic() - loadedAt;
    this.add(ref, { model, caps });
    const { multilingual } = model.tokenizer.special;
    const { batching } = model.decoder;
    return {
      ...openedModel({ ref, batching, graphs: model.graphs, cap: caps.decoder, warmUpMs }),
      whisper: {
        frontEnd: model.frontEnd,
        languages: multilingual ? [...multilingual.languages.keys()] : null,
        timesWords: model.alignment !== undefined,
      },
    };
  }

  override submit(request: WhisperSample): void {
    this.lane(request).submit(request);
  }

  protected override newLane({ lane: name }: WhisperSample, { model, caps }: OpenModel): WhisperLane {
    const { clock, post } = this.parts;
    const ladder = ladderFor(decoderProvider(model));
    return new WhisperLane({ name, model, encoderCap: caps.encoder, cap: caps.decoder, ladder, clock, post });
  }
}

const decoderProvider = ({ graphs }: WhisperModel): string =>
  graphs.find(({ graph }) => graph === 'decoder')?.provider ?? 'cpu';

interface WhisperCaps {
  readonly encoder: RowCap;
  readonly decoder: RowCap;
}

/** Memory for the keys and values of the audio of all rows of a batch: they are by far the largest part of a row. */
const MAX_BATCH_BYTES = 2 * 2 ** 30;
/** Encoder calls with more windows would delay the decoder for too long. */
const MAX_ENCODER_ROWS = 8;
/**
 * On a CPU, for one layer's attention weights of all windows of an encoder call. ONNX Runtime keeps about three times this memory for as
 * long as the model is open. One window of 30 s keeps all cores busy already, so more windows would gain little.
 */
const MAX_CPU_ATTENTION_BYTES = 160 * 2 ** 20;
/** A window takes tens of megabytes, which ONNX Runtime keeps: no rung is tried beyond the first that does not pay. */
const PATIENCE = 1;

/**
 * Warm-up of a Whisper model, before it serves any job: runs every graph and measures the duration of a call by its number
 * of windows, for as long as more windows increase the throughput. Encoder and decoder are measured separately, because their
 * knees differ a lot.
 */
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
  const provider = model.graphs.find(({ graph }) => graph === 'encoder')?.provider ?? 'cpu';
  const encoder = new RowCap({
    ceiling: Math.min(mostEncoderRows(model.decoder.sizes, provider), decoder.ceiling),
  });
  const { melBins, windowFrames } = model.frontEnd;
  const mel = new Float32Array(melBins * windowFrames);
  const { floatType } = model.decoder.sizes;
  const encode = (rows: number) => model.encoder.encode(new Array(rows).fill(mel), floatType);
  await climbLadder(encoder, { clock, run: encode, patience: PATIENCE });
  await climbLadder(decoder, { clock, run: decoderStepper(model, await encode(1)), patience: PATIENCE });
  return { encoder, decoder };
}
const MAX_DECODER_ROWS = ROW_LADDER[ROW_LADDER.length - 1];

/** The most windows of an encoder call. The encoder has as many heads as the decoder, and a position for each position of the audio. */
export function mostEncoderRows(
  { heads, audioPositions }: Pick<DecoderSizes, 'heads' | 'audioPositions'>,
  provider: GraphReport['provider'],
): number {
  if (provider !== 'cpu') return MAX_ENCODER_ROWS;
  // In float32, which a CPU computes in, whatever the type of the graph.
  const attentionBytes = heads * audioPositions ** 2 * Float32Array.BYTES_PER_ELEMENT;
  return Math.min(MAX_ENCODER_ROWS, Math.max(1, Math.floor(MAX_CPU_ATTENTION_BYTES / attentionBytes)));
}

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
    if (batch.rows !== rows) {
      const state = (await decoder.start([[start]], [features])).state(0);
      // The earlier rows are longer by now, and all rows of an aligned batch must be of equal length. A rung that is measured again has fewer.
      while (batch.rows > 0) batch.remove(0);
      while (batch.rows < rows) batch.push(state);
    }
    await decoder.step(batch, new Array<number>(rows).fill(start));
    batch.advance();
  };
}
