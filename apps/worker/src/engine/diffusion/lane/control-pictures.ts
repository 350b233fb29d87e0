/** Pictures that models make of others, such as depths or edges, before ControlNets are given them: each once, in the lane of its model. */
import { createHash } from 'node:crypto';
import { LehrError, RecentlyUsed, toPlainError } from '@lehr/shared';
import type { DiffusionSample, FromEngine, SampleId, TransformResult } from '../../protocol/messages.ts';
import type { PictureSize } from '../../values/resize.ts';
import type { OpenControl } from '../control/open-controls.ts';
import type { ControlToMake } from '../control/sample-controls.ts';
import type { LaneSample } from './lane-sample.ts';
import type { Enlarger, Pixels } from './upscales.ts';

interface ControlPicturesOptions {
  readonly transforms: Enlarger;
  readonly post: (message: FromEngine) => void;
  /** All control pictures of a sample are there. */
  readonly onMade: (sample: LaneSample) => void;
}

/** The pictures of a job have one control picture, and jobs often follow each other with the same one. A picture is a few megabytes. */
const MAX_KEPT = 8;

export class ControlPictures {
  readonly #options: ControlPicturesOptions;
  readonly #waiting = new Map<SampleId, LaneSample>();
  /** The sample for which a picture is made now; others may wait for the same one. */
  readonly #making = new Map<string, SampleId>();
  readonly #made = new RecentlyUsed<string, Pixels>(MAX_KEPT);

  constructor(options: ControlPicturesOptions) {
    this.#options = options;
  }

  /** Throws LehrError when no open model of this name makes pictures or masks. */
  check(ref: string): void {
    const abilities = this.#options.transforms.abilities(ref);
    if (abilities && abilities.result !== 'class') return;
    const reason = abilities ? `it makes a ${abilities.result}, not a picture or a mask` : 'it is not open';
    const code = abilities ? 'invalid-input' : 'model-unavailable';
    throw new LehrError(code, `${ref} cannot make control pictures: ${reason}.`);
  }

  submit(sample: LaneSample): void {
    this.#waiting.set(sample.request.id, sample);
    this.#goOn(sample);
  }

  /** Returns false when there is no such sample. */
  cancel(id: SampleId): boolean {
    if (!this.#waiting.delete(id)) return false;
    for (const [key, owner] of this.#making) {
      if (owner !== id) continue;
      this.#options.transforms.cancel(id);
      this.#making.delete(key);
    }
    this.#goOnWithAll();
    return true;
  }

  #goOnWithAll(): void {
    for (const sample of [...this.#waiting.values()]) this.#goOn(sample);
  }

  /** Takes what is made already, and makes what is not. */
  #goOn(sample: LaneSample): void {
    const { request, controls } = sample;
    for (let next = controls.toMake; next; next = controls.toMake) {
      const key = keyOf(next);
      const made = this.#made.get(key);
      if (!made) {
        this.#make(sample, next, key);
        return;
      }
      controls.setMade(next.index, made.pixels, made);
    }
    if (this.#waiting.delete(request.id)) this.#options.onMade(sample);
  }

  /** Never throws: a picture that cannot be made is a failure of its sample. */
  #make(sample: LaneSample, { model, pixels, width, height }: ControlToMake, key: string): void {
    if (this.#making.has(key)) return;
    const { id, priority, maxBatchMates } = sample.request;
    this.#making.set(key, id);
    const common = {
      id,
      task: 'transform',
      model,
      lane: `transform.${model}`,
      maxBatchMates,
      topK: 0,
    } as const;
    const request = { ...common, ...(priority && { priority }), pixels, width, height };
    const { transforms, post } = this.#options;
    try {
      transforms.submit(request, (end) => {
        this.#making.delete(key);
        if (end.type === 'failed' || end.result.kind === 'class') {
          this.#waiting.delete(id);
          post(end);
        } else {
          sample.deviceMs += end.timings.deviceMs;
          this.#made.set(key, pictureOf(end.result));
        }
        this.#goOnWithAll();
      });
    } catch (error) {
      this.#making.delete(key);
      this.#waiting.delete(id);
      post({ type: 'failed', sample: id, failure: toPlainError(error, 'engine-failed') });
    }
  }
}

const CHANNELS = 3;

/** A mask becomes grey. */
function pictureOf(result: Exclude<TransformResult, { kind: 'class' }>): Pixels {
  if (result.kind === 'picture') return result;
  const { values, width, height } = result;
  const pixels = new Uint8Array(values.length * CHANNELS);
  for (const [i, value] of values.entries()) pixels.fill(value, i * CHANNELS, (i + 1) * CHANNELS);
  return { pixels, width, height };
}

const keyOf = ({ model, pixels, width, height }: ControlToMake): string =>
  `${model} ${width}x${height} ${createHash('sha256').update(pixels).digest('hex')}`;

/** Throws LehrError `invalid-input` naming the control that the model cannot draw with, and what `check` throws of a model that makes pictures. */
export function refuseControls(
  { model, controls = [], hires, width, height }: DiffusionSample,
  open: readonly OpenControl[],
  check: ControlPictures['check'],
): void {
  const sizes = [{ width, height }, ...(hires ? [hires] : [])];
  for (const [i, { name, preprocess }] of controls.entries()) {
    const own = open.find((each) => each.name === name);
    const problem = problemOf(own, model, sizes);
    if (problem) throw refused(`/input/control/${i}/name`, problem);
    if (preprocess === undefined) continue;
    try {
      check(preprocess);
    } catch (error) {
      if (!(error instanceof LehrError) || error.code !== 'invalid-input') throw error;
      throw refused(`/input/control/${i}/preprocess`, error.message);
    }
  }
}

function problemOf(
  control: OpenControl | undefined,
  model: string,
  sizes: readonly PictureSize[],
): string | undefined {
  if (!control) return `is no ControlNet of ${model}`;
  if (control.problem !== undefined) return `cannot be used with ${model}: ${control.problem}`;
  const only = control.onlySize;
  const other = only && sizes.find(({ width, height }) => width !== only.width || height !== only.height);
  return (
    other &&
    `was exported for pictures of ${only.width}x${only.height} alone; this one is ${other.width}x${other.height}`
  );
}

const refused = (pointer: string, detail: string): LehrError =>
  new LehrError('invalid-input', `${pointer} ${detail}.`.replace(/\.\.$/, '.'), {
    problems: [{ pointer, detail }],
  });
