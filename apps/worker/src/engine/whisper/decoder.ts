/**
 * Whisper's decoder: `start` reads prompts of equal length in one call, `step` takes one token for every row of a batch. A
 * row's results do not depend on the other rows of its batch.
 */
import { toFloat32 } from '@lehr/onnx-model';
import type { Batching } from '../runtime/runtime.ts';
import type { Tensor } from '../runtime/tensor.ts';
import { DecoderBatch, type RowState } from './decoder-batch.ts';
import {
  attendedLayers,
  CACHE_POSITION,
  type DecoderSessions,
  type DecoderSizes,
  layerNames,
  USE_CACHE,
} from './decoder-graphs.ts';
import { type FloatData, newFloats } from './row-buffer.ts';
import { tensor } from './token-cache.ts';

/** The rows of a batch that a call is for, by default all; `padTo` as in `step`. */
export interface StepRange {
  readonly from?: number;
  readonly to?: number;
  readonly padTo?: number;
}

export interface Started {
  /** Logits after token `position` of a row's prompt: `[vocabulary]`, which the caller may change. */
  logits(row: number, position: number): Float32Array;
  /** For DecoderBatch.push. */
  state(row: number): RowState;
}

export interface CrossAttention {
  readonly layer: number;
  /** `[heads, tokens, audioPositions]` */
  readonly weights: Float32Array;
}

export class Decoder {
  readonly sizes: DecoderSizes;
  readonly batching: Batching;
  /** Layers that `attend` can return; none when the graph was exported without cross-attentions. */
  readonly attendedLayers: readonly number[];
  readonly #sessions: DecoderSessions;

  constructor(sessions: DecoderSessions, sizes: DecoderSizes, batching: Batching) {
    this.#sessions = sessions;
    this.sizes = sizes;
    this.batching = batching;
    this.attendedLayers = attendedLayers(sessions.first);
  }

  newBatch(): DecoderBatch {
    return new DecoderBatch(this.sizes, this.batching.mode);
  }

  /** Reads whole prompts of equal length. `audio`: features `[audioPositions, width]` per row. Throws what a session throws. */
  async start(prompts: readonly (readonly number[])[], audio: readonly FloatData[]): Promise<Started> {
    const { layers, vocabularySize } = this.sizes;
    const own = layerNames(layers, 'present', 'decoder');
    const ofAudio = layerNames(layers, 'present', 'encoder');
    const results = await this.#begin(prompts, audio, ['logits', ...own, ...ofAudio]);
    const length = prompts[0].length;
    const part = (name: string, row: number): FloatData => rowOf(results[name], row, prompts.length);
    return {
      logits: (row, position) => {
        const from = position * vocabularySize;
        return asFloats(part('logits', row).subarray(from, from + vocabularySize));
      },
      state: (row) => ({
        length,
        own: own.map((name) => part(name, row)),
        audio: [...ofAudio.map((name) => part(name, row)), audio[row]],
      }),
    };
  }

  /**
   * One call over the rows `from` to `to`: reads one token of each and returns the logits after it, `[vocabulary]`, which
   * the caller may change. Call `batch.advance()` once all rows of the batch were stepped. In `rows` mode the call can be
   * padded to `padTo` rows, for providers that tune per shape. Throws what a session throws.
   */
  async step(
    batch: DecoderBatch,
    tokens: readonly number[],
    { from = 0, to = batch.rows, padTo = 0 }: StepRange = {},
  ): Promise<Float32Array[]> {
    const { next } = this.#sessions;
    const rows = this.batching.mode === 'rows' ? Math.max(to - from, padTo) : to - from;
    const { feeds, slotTokens } = batch.feeds(from, from + rows);
    const presents = layerNames(this.sizes.layers, 'present', 'decoder');
    const results = await next.run(
      this.#only(next.inputs, {
        ...feeds,
        input_ids: this.#tokens(
          Array.from({ length: rows }, (_, row) => (from + row < to ? tokens[from + row] : 0)),
          [rows, 1],
        ),
        [USE_CACHE]: flag(true),
        [CACHE_POSITION]: this.#tokens([slotTokens], [1]),
      }),
      ['logits', ...presents],
    );
    batch.store(
      from,
      to,
      presents.map((name) => floatsOf(results[name])),
    );
    return Array.from({ length: to - from }, (_, row) => asFloats(rowOf(results.logits, row, rows)));
  }

  /** The cross-attention of the given layers while the decoder reads these tokens. Throws what a session throws. */
  async attend(
    tokens: readonly number[],
    audio: FloatData,
    layers: readonly number[],
  ): Promise<CrossAttention[]> {
    const names = layers.map((layer) => `cross_attentions.${layer}`);
    const results = await this.#begin([tokens], [audio], names);
    return layers.map((layer, i) => ({ layer, weights: asFloats(floatsOf(results[names[i]])) }));
  }

  #begin(
    prompts: readonly (readonly number[])[],
    audio: readonly FloatData[],
    outputs: readonly string[],
  ): Promise<Record<string, Tensor>> {
    const { first } = this.#sessions;
    const { layers, heads, headSize, width, audioPositions, floatType } = this.sizes;
    const rows = prompts.length;
    const length = prompts[0].length;
    const nothing = tensor(floatType, newFloats(floatType, 0), [rows, heads, 0, headSize]);
    const pasts = [
      ...layerNames(layers, 'past_key_values', 'decoder'),
      ...layerNames(layers, 'past_key_values', 'encoder'),
    ];
    const features = tensor(floatType, joined(audio), [rows, audioPositions, width]);
    return first.run(
      this.#only(first.inputs, {
        ...Object.fromEntries(pasts.map((name) => [name, nothing])),
        ...DecoderBatch.unusedFeeds(rows, floatType),
        input_ids: this.#tokens(prompts.flat(), [rows, length]),
        encoder_hidden_states: features,
        [USE_CACHE]: flag(false),
        [CACHE_POSITION]: this.#tokens([...prompts[0].keys()], [length]),
      }),
      outputs,
    );
  }

  /** Only the feeds that this graph has as inputs: old and new exports differ. */
  #only(inputs: DecoderSessions['first']['inputs'], feeds: Record<string, Tensor>): Record<string, Tensor> {
    return Object.fromEntries(inputs.flatMap(({ name }) => (feeds[name] ? [[name, feeds[name]]] : [])));
  }

  #tokens(ids: readonly number[], dims: readonly number[]): Tensor {
    return this.sizes.tokenType === 'int64'
      ? { type: 'int64', data: BigInt64Array.from(ids, BigInt), dims }
      : { type: 'int32', data: Int32Array.from(ids), dims };
  }
}

const flag = (value: boolean): Tensor => ({ type: 'bool', data: Uint8Array.of(value ? 1 : 0), dims: [1] });

function joined(rows: readonly FloatData[]): FloatData {
  if (rows.length === 1) return rows[0];
  const type = rows[0] instanceof Float32Array ? 'float32' : 'float16';
  const whole = newFloats(type, rows.length * rows[0].length);
  for (const [i, row] of rows.entries()) whole.set(row, i * row.length);
  return whole;
}

function floatsOf({ type, data }: Tensor): FloatData {
  if (type === 'float32' || type === 'float16') return data;
  throw new TypeError(`Wanted a float tensor, got ${type}.`);
}

function rowOf(batch: Tensor, row: number, rows: number): FloatData {
  const data = floatsOf(batch);
  const length = data.length / rows;
  return data.subarray(row * length, (row + 1) * length);
}

const asFloats = (data: FloatData): Float32Array => (data instanceof Float32Array ? data : toFloat32(data));
