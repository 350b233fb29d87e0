/** The part of the engine that transforms pictures: its open models, their warm-up and a lane for each. */
import type { Clock } from '@lehr/shared';
import { closeOnFailure } from '../../folder/open-whole.ts';
import { ModelLanes, openedModel, tunedSettings } from '../../lanes/model-lanes.ts';
import { climbLadder, ladderFor, ROW_LADDER, RowCap, WIDEST } from '../../lanes/row-cap.ts';
import type {
  OpenedModel,
  TransformAbilities,
  TransformSample,
  TransformToOpen,
} from '../../protocol/messages.ts';
import { openTransformModel, type TransformModel } from '../folder/transform-folder.ts';
import type { OnEnd } from './lane-work.ts';
import { TransformLane } from './transform-lane.ts';

interface OpenModel {
  readonly model: TransformModel;
  readonly cap: RowCap;
}

export class TransformLanes extends ModelLanes<OpenModel, TransformSample, TransformLane> {
  /** Loads a model and warms it up; rejects with `model-unavailable` and the reason. */
  async open({ ref, folder, task: _, tuned, ...options }: TransformToOpen): Promise<OpenedModel> {
    const { runtime, clock } = this.parts;
    const settings = tunedSettings(this.parts.settings, tuned);
    const model = await openTransformModel(folder, runtime, { ...options, ...settings });
    const loadedAt = clock.monotonic();
    const cap = await closeOnFailure(model, () => warmUpTransform(model, clock, settings.rowCap));
    this.add(ref, { model, cap });
    const { graphs } = model;
    const warmUpMs = clock.monotonic() - loadedAt;
    const opened = openedModel({ ref, batching: { mode: 'rows' }, graphs, cap, warmUpMs });
    return { ...opened, transform: abilitiesOf(model) };
  }

  /** What an open model makes; undefined when it is not open. */
  abilities(ref: string): TransformAbilities | undefined {
    const opened = this.find(ref);
    return opened && abilitiesOf(opened.model);
  }

  /** Throws LehrError `invalid-input` for what the model cannot do. */
  override submit(request: TransformSample, onEnd?: OnEnd): void {
    this.lane(request).submit(request, onEnd);
  }

  protected override newLane({ lane: name }: TransformSample, { model, cap }: OpenModel): TransformLane {
    const { clock, post } = this.parts;
    return new TransformLane({ name, model, cap, ladder: ladderFor(model.graph.provider), clock, post });
  }
}

function abilitiesOf({ reading }: TransformModel): TransformAbilities {
  switch (reading.kind) {
    case 'picture':
      return {
        result: 'picture',
        scale: reading.scale,
        tile: Math.max(reading.tile.width, reading.tile.height),
      };
    case 'mask':
      return { result: 'mask', scale: 1 };
    case 'class':
      return { result: 'class', scale: 1, labels: reading.labels };
  }
}

/**
 * The most memory for the outputs of a run. An upscaler computes with some dozens of channels where its output has three, and ONNX Runtime
 * keeps that memory: with 256 MB here, an engine with demo-upscaler grew from 0.5 GB to 6.5 GB.
 */
const MAX_OUTPUT_BYTES = 16 * 2 ** 20;

/** Warm-up of a model, before it serves any job: measures runs of more and more rows while the throughput increases. */
async function warmUpTransform(
  { graph, usualSize: size, outputLength, probe }: TransformModel,
  clock: Clock,
  wanted: number | 'auto',
): Promise<RowCap> {
  const fitting = Math.min(WIDEST, Math.max(1, Math.floor(MAX_OUTPUT_BYTES / (4 * outputLength))));
  const ceiling = graph.fixedRows ?? (wanted === 'auto' ? fitting : wanted);
  const cap = new RowCap({ ceiling, fixed: wanted !== 'auto' || graph.fixedRows !== undefined });
  const rungs = graph.fixedRows === undefined ? ROW_LADDER : [graph.fixedRows];
  const run = (rows: number) => graph.run(new Array<Float32Array>(rows).fill(probe), size);
  // Rows are large, and each doubling takes the memory of twice as many.
  await climbLadder(cap, { clock, run, rungs, patience: 1 });
  return cap;
}
