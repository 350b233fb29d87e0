/** Log-mel windows to audio features. */

import { toFloat16, toFloat32 } from '@lehr/onnx-model';
import { LehrError } from '@lehr/shared';
import { expectInputs, expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import { RowStack } from '../runtime/row-stack.ts';
import type { RuntimeSession } from '../runtime/runtime.ts';
import { FLOAT_TYPES, type FloatType } from '../runtime/tensor.ts';
import type { FloatData } from './row-buffer.ts';

export interface EncoderConfig {
  readonly melBins: number;
  /** Mel frames of a window. */
  readonly windowFrames: number;
  readonly width: number;
}

export class AudioEncoder {
  readonly #session: RuntimeSession;
  readonly #config: EncoderConfig;
  readonly #melType: FloatType;
  readonly #output: string;
  readonly #mels = new RowStack();

  /** Throws LehrError `model-unavailable` when the session is not a Whisper encoder, or does not fit this config. */
  constructor(session: RuntimeSession, config: EncoderConfig) {
    const [mel] = expectInputs('encoder', session, ['input_features']);
    const output = expectOutput('encoder', session, ['last_hidden_state']);
    expectSize('encoder', mel, 1, config.melBins);
    expectSize('encoder', mel, 2, config.windowFrames);
    expectSize('encoder', output, 2, config.width);
    this.#session = session;
    this.#config = config;
    this.#melType = expectType('encoder', mel, FLOAT_TYPES);
    this.#output = output.name;
  }

  /**
   * `mels`: `[melBins, windowFrames]` each. Returns `[windowFrames / 2, width]` each, in the given float type. Throws
   * LehrError `invalid-input` for a window of another size, and what a session throws.
   */
  async encode(mels: readonly Float32Array[], type: FloatType): Promise<FloatData[]> {
    const { melBins, windowFrames } = this.#config;
    for (const mel of mels) {
      if (mel.length !== melBins * windowFrames) {
        const wanted = `${melBins} x ${windowFrames}`;
        throw new LehrError('invalid-input', `A log-mel window has ${mel.length} values, wanted ${wanted}.`);
      }
    }
    const stacked = this.#mels.stack(this.#melType, mels, [mels.length, melBins, windowFrames]);
    const results = await this.#session.run({ input_features: stacked }, [this.#output]);
    const { data } = results[this.#output];
    if (!(data instanceof Float32Array || data instanceof Uint16Array)) {
      throw new LehrError('engine-failed', 'The output of the encoder graph is not a float tensor.');
    }
    const features = convert(data, type);
    const length = features.length / mels.length;
    return mels.map((_, row) => features.subarray(row * length, (row + 1) * length));
  }
}

/** The encoder of an export may return another float type than its decoder takes. */
function convert(data: FloatData, type: FloatType): FloatData {
  if (data instanceof Float32Array) return type === 'float32' ? data : toFloat16(data);
  return type === 'float16' ? data : toFloat32(data);
}
