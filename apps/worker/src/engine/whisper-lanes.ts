/** The Whisper half of the engine: its open models and a lane for each. */
import type { Clock } from '@lehr/shared';
import { openWhisperModel, type WhisperModel } from '../models/whisper/whisper-folder.ts';
import type { InferenceRuntime } from '../runtime/runtime.ts';
import type {
  EngineSettings,
  FromEngine,
  OpenedModel,
  SampleId,
  WhisperSample,
  WhisperToOpen,
} from './protocol.ts';
import { ladderFor } from './row-cap.ts';
import { WhisperLane } from './whisper-lane.ts';
import { type WhisperCaps, warmUpWhisper } from './whisper-warm-up.ts';

export interface WhisperLanesOptions {
  readonly runtime: InferenceRuntime;
  readonly settings: EngineSettings;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
}

interface Opened {
  readonly model: WhisperModel;
  readonly caps: WhisperCaps;
}

export class WhisperLanes {
  readonly #options: WhisperLanesOptions;
  readonly #models = new Map<string, Opened>();
  readonly #lanes = new Map<string, WhisperLane>();

  constructor(options: WhisperLanesOptions) {
    this.#options = options;
  }

  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open({ ref, folder, variant }: WhisperToOpen): Promise<OpenedModel> {
    const { runtime, settings, clock } = this.#options;
    const model = await openWhisperModel(folder, runtime, { ...settings, ...(variant && { variant }) });
    const caps = await warmUpWhisper(model, settings.rowCap, clock);
    this.#models.set(ref, { model, caps });
    const { batching } = model.decoder;
    const { multilingual } = model.tokenizer.special;
    return {
      ref,
      batching: batching.mode === 'rows' ? 'step' : 'aligned',
      ...(batching.mode === 'aligned' && { reason: batching.reason }),
      graphs: model.graphs,
      stepMs: caps.decoder.measurements,
      rowCap: caps.decoder.rows,
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

  /** True when the window was here; nothing of it is written any more. */
  cancel(id: SampleId): boolean {
    return this.stations().some((lane) => lane.cancel(id));
  }

  stations(): WhisperLane[] {
    return [...this.#lanes.values()];
  }

  async close(): Promise<void> {
    for (const { model } of this.#models.values()) await model.close();
  }

  #lane({ lane: name, model: ref }: WhisperSample): WhisperLane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const opened = this.#models.get(ref);
    if (!opened) throw new Error(`Model ${ref} is not open in this engine. This is a bug in Lehr.`);
    const { clock, post } = this.#options;
    const lane = new WhisperLane({
      name,
      model: opened.model,
      encoderCap: opened.caps.encoder,
      cap: opened.caps.decoder,
      ladder: ladderFor(decoderProvider(opened.model)),
      clock,
      post,
    });
    this.#lanes.set(name, lane);
    return lane;
  }
}

const decoderProvider = ({ graphs }: WhisperModel): string =>
  graphs.find(({ graph }) => graph === 'decoder')?.provider ?? 'cpu';
