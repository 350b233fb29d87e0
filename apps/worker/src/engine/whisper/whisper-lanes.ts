/** The Whisper half of the engine: its open models and a lane for each. */
import { orClose } from '../../models/open-whole.ts';
import { openWhisperModel, type WhisperModel } from '../../models/whisper/whisper-folder.ts';
import { type EngineParts, isNotOpen, openedModel } from '../engine-parts.ts';
import type { OpenedModel, SampleId, WhisperSample, WhisperToOpen } from '../protocol.ts';
import { ladderFor } from '../row-cap.ts';
import type { TurnTaker } from '../turns.ts';
import { WhisperLane } from './whisper-lane.ts';
import { type WhisperCaps, warmUpWhisper } from './whisper-warm-up.ts';

interface OpenModel {
  readonly model: WhisperModel;
  readonly caps: WhisperCaps;
}

export class WhisperLanes {
  readonly #parts: EngineParts;
  readonly #models = new Map<string, OpenModel>();
  readonly #lanes = new Map<string, WhisperLane>();
  /** The model of each lane. */
  readonly #laneModels = new Map<string, string>();

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open({ ref, folder, variant }: WhisperToOpen): Promise<OpenedModel> {
    const { runtime, settings, clock } = this.#parts;
    const model = await openWhisperModel(folder, runtime, { ...settings, ...(variant && { variant }) });
    const caps = await orClose(model, () => warmUpWhisper(model, settings.rowCap, clock));
    this.#models.set(ref, { model, caps });
    const { multilingual } = model.tokenizer.special;
    return {
      ...openedModel(ref, model.decoder.batching, model.graphs, caps.decoder),
      whisper: {
        frontEnd: model.frontEnd,
        languages: multilingual ? [...multilingual.languages.keys()] : null,
        timesWords: model.alignment !== undefined,
      },
    };
  }

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  submit(request: WhisperSample): void {
    this.#lane(request).submit(request);
  }

  /** Cancels a window, of which nothing more is posted; returns false when there is no such window. */
  cancel(id: SampleId): boolean {
    return [...this.#lanes.values()].some((lane) => lane.cancel(id));
  }

  turnTakers(): TurnTaker[] {
    return [...this.#lanes.values()];
  }

  /** Closes a model that has no sample left. */
  async closeModel(ref: string): Promise<void> {
    const open = this.#models.get(ref);
    if (!open) return;
    this.#models.delete(ref);
    for (const [name, model] of this.#laneModels) {
      if (model !== ref) continue;
      this.#laneModels.delete(name);
      this.#lanes.delete(name);
    }
    await open.model.close();
  }

  async close(): Promise<void> {
    for (const { model } of this.#models.values()) await model.close();
  }

  #lane({ lane: name, model: ref }: WhisperSample): WhisperLane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const open = this.#models.get(ref);
    if (!open) throw isNotOpen(ref);
    const { clock, post } = this.#parts;
    const lane = new WhisperLane({
      name,
      model: open.model,
      encoderCap: open.caps.encoder,
      cap: open.caps.decoder,
      ladder: ladderFor(decoderProvider(open.model)),
      clock,
      post,
    });
    this.#lanes.set(name, lane);
    this.#laneModels.set(name, ref);
    return lane;
  }
}

const decoderProvider = ({ graphs }: WhisperModel): string =>
  graphs.find(({ graph }) => graph === 'decoder')?.provider ?? 'cpu';
