/** Makes the checkpoints of running samples: when they are due, and as fast as the worker may store them. */
import { createHash } from 'node:crypto';
import type { Clock } from '@lehr/shared';
import type {
  CheckpointSettings,
  DiffusionSample,
  FromEngine,
  SampleCheckpoint,
} from '../../protocol/messages.ts';
import { belongsTo } from '../checkpoint.ts';
import type { LaneSample } from './lane-sample.ts';

export interface CheckpointsOptions {
  readonly settings: CheckpointSettings;
  readonly clock: Clock;
  readonly post: (message: FromEngine) => void;
  /** Digest of the weights that draw a sample. */
  readonly weightsOf: (request: DiffusionSample) => string;
}

export class Checkpoints {
  readonly #options: CheckpointsOptions;
  /** When the last checkpoint of a sample was made, or when it was first seen here; on the engine's monotonic clock. */
  readonly #madeAt = new WeakMap<LaneSample, number>();
  readonly #identities = new WeakMap<DiffusionSample, string>();
  /** Bytes that may be made now. Below zero after a checkpoint that was larger than the rest. */
  #allowance: number;
  #refilledAt: number;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    this.#allowance = options.settings.bytesPerS;
    this.#refilledAt = options.clock.monotonic();
  }

  /**
   * These samples of a lane have made a step: posts the checkpoints that are due, in one message. Those that are half due go with
   * them, so that the samples of a lane soon have theirs at the same steps, and the worker fewer writes.
   */
  stepped(samples: readonly LaneSample[]): void {
    this.#refill();
    if (!samples.some((sample) => this.#isDue(sample, 1))) return;
    const made: SampleCheckpoint[] = [];
    for (const sample of samples) {
      if (this.#allowance > 0 && this.#isDue(sample, 1 / 2)) made.push(this.#make(sample));
    }
    if (made.length > 0) this.#options.post({ type: 'checkpoints', samples: made });
  }

  /** Posts the state of a sample that leaves this engine, unless it has made no step since the last checkpoint. */
  leaving(sample: LaneSample): void {
    if (sample.denoising.callsToCheckpoint > 0)
      this.#options.post({ type: 'checkpoints', samples: [this.#make(sample)] });
  }

  /**
   * A sample with a checkpoint continues there, in the pass that the checkpoint belongs to, which is returned; when that cannot be used, it
   * starts at its first step. `second` makes the second pass, for a sample that has one.
   */
  resume(sample: LaneSample, checkpoint: Uint8Array, second?: () => LaneSample): LaneSample {
    const { post } = this.#options;
    const { id } = sample.request;
    try {
      const pass = second && belongsTo(checkpoint, this.#identityOf(sample, true)) ? second() : sample;
      pass.denoising.restore(checkpoint, this.#identityOf(pass));
      post({ type: 'resumed', sample: id, step: pass.step });
      return pass;
    } catch (error) {
      post({ type: 'checkpoint-ignored', sample: id, reason: (error as Error).message });
      return sample;
    }
  }

  /** Whether the given part of the steps or of the time between two checkpoints is over. */
  #isDue(sample: LaneSample, part: number): boolean {
    const { settings, clock } = this.#options;
    const { callsToCheckpoint, callsLeft } = sample.denoising;
    const madeAt = this.#madeAt.get(sample) ?? sample.startedAt;
    if (callsToCheckpoint === 0) return false;
    if (callsLeft === 0) return sample.request.checkpointAtEnd === true;
    const ms = clock.monotonic() - madeAt;
    return callsToCheckpoint >= part * settings.everySteps || ms >= part * settings.everyMs;
  }

  #make(sample: LaneSample): SampleCheckpoint {
    const bytes = sample.denoising.checkpoint(this.#identityOf(sample));
    this.#allowance -= bytes.byteLength;
    this.#madeAt.set(sample, this.#options.clock.monotonic());
    return { id: sample.request.id, step: sample.step, bytes };
  }

  #refill(): void {
    const { settings, clock } = this.#options;
    const now = clock.monotonic();
    const added = ((now - this.#refilledAt) / 1000) * settings.bytesPerS;
    this.#allowance = Math.min(settings.bytesPerS, this.#allowance + added);
    this.#refilledAt = now;
  }

  /** A second pass has the identity of what was asked for, marked: what it begins at follows from that. */
  #identityOf({ request: own, first }: LaneSample, isSecond = first !== undefined): string {
    const request = first?.request ?? own;
    const identity = this.#identities.get(request) ?? identityOf(request, this.#options.weightsOf(request));
    this.#identities.set(request, identity);
    return isSecond ? `${identity}-second` : identity;
  }
}

/** Digest of everything that the latents of a sample depend on. */
function identityOf(request: DiffusionSample, weights: string): string {
  const {
    id,
    lane,
    priority,
    maxBatchMates,
    checkpoint,
    checkpointAtEnd,
    image,
    latent,
    mask,
    hires,
    controls,
    ...input
  } = request;
  const { kept, ...larger } = hires ?? {};
  const guides = controls?.map(({ pixels: _, ...use }) => use);
  const whole = { ...input, ...(hires && { hires: larger }), ...(guides && { controls: guides }) };
  const sorted = Object.entries(whole).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash('sha256').update(JSON.stringify([weights, sorted]));
  for (const pixels of [image, latent, mask, kept?.image, kept?.mask]) if (pixels) hash.update(pixels);
  for (const { pixels } of controls ?? []) hash.update(pixels);
  return hash.digest('hex');
}
