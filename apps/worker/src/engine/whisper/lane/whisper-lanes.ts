/** The Whisper part of the engine: its open models and a lane for each. */
import { orClose } from '../../folder/open-whole.ts';
import { openedModel, tunedSettings } from '../../lanes/engine-parts.ts';
import { ModelLanes } from '../../lanes/model-lanes.ts';
import { ladderFor } from '../../lanes/row-cap.ts';
import type { OpenedModel, WhisperSample, WhisperToOpen } from '../../protocol/messages.ts';
import { openWhisperModel, type WhisperModel } from '../folder/whisper-folder.ts';
import { WhisperLane } from './whisper-lane.ts';
import { type WhisperCaps, warmUpWhisper } from './whisper-warm-up.ts';

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
    const caps = await orClose(model, () => warmUpWhisper(model, settings.rowCap, clock));
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
