/** First passes whose pixels a model for pictures enlarges, in its own lane, beside the tiles of jobs. */
import { LehrError } from '@lehr/shared';
import type {
  FromEngine,
  SampleId,
  TransformAbilities,
  TransformedMessage,
  TransformSample,
} from '../../protocol/messages.ts';
import type { LaneSample } from './lane-sample.ts';

/** The end of a picture that was given to another model. */
type Enlarged = TransformedMessage | Extract<FromEngine, { type: 'failed' }>;

/** The lanes of the models for pictures, as far as they are needed here. */
export interface Enlarger {
  /** What an open model makes; undefined when it is not open. */
  abilities(ref: string): TransformAbilities | undefined;
  /** `onEnd` is called in place of posting the end. Throws what the model cannot do. */
  submit(request: TransformSample, onEnd: (end: Enlarged) => void): void;
  cancel(id: SampleId): boolean;
}

export interface Pixels {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

interface UpscalesOptions {
  readonly enlarger: Enlarger;
  readonly post: (message: FromEngine) => void;
  readonly onEnlarged: (sample: LaneSample, enlarged: Pixels) => void;
}

export class Upscales {
  readonly #options: UpscalesOptions;
  readonly #samples = new Map<SampleId, LaneSample>();

  constructor(options: UpscalesOptions) {
    this.#options = options;
  }

  find(id: SampleId): LaneSample | undefined {
    return this.#samples.get(id);
  }

  /** Returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    return this.#samples.delete(id) && this.#options.enlarger.cancel(id);
  }

  /** Throws LehrError when no open model of this name enlarges pictures. */
  check(ref: string): void {
    const abilities = this.#options.enlarger.abilities(ref);
    if (abilities?.result === 'picture') return;
    const reason = abilities ? `it makes a ${abilities.result}, not a picture` : 'it is not open';
    throw new LehrError(
      abilities ? 'invalid-input' : 'model-unavailable',
      `${ref} cannot enlarge: ${reason}.`,
    );
  }

  /** Never throws: what cannot be enlarged is a failure of its sample. */
  submit(sample: LaneSample, { pixels, width, height }: Pixels, ref: string): void {
    const { enlarger, post, onEnlarged } = this.#options;
    const { id, priority, maxBatchMates } = sample.request;
    this.#samples.set(id, sample);
    const request: TransformSample = {
      id,
      task: 'transform',
      model: ref,
      lane: `transform.${ref}`,
      ...(priority && { priority }),
      maxBatchMates,
      ...{ pixels, width, height },
      topK: 0,
    };
    enlarger.submit(request, (end) => {
      this.#samples.delete(id);
      if (end.type === 'failed' || end.result.kind !== 'picture') return post(end);
      sample.deviceMs += end.timings.deviceMs;
      onEnlarged(sample, end.result);
    });
  }
}
