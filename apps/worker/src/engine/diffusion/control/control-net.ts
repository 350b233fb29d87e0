/**
 * A ControlNet of diffusers as a graph: the latent of a row, its prompt and a picture in, what is added to the values of a UNet out. Its inputs
 * have the names of diffusers; its outputs are those of the down blocks in order, and then that of the middle block.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LehrError } from '@lehr/shared';
import { z } from 'zod';
import { readConfigFile } from '../../folder/config-file.ts';
import { expectType } from '../../runtime/graph-values.ts';
import { RowStack } from '../../runtime/row-stack.ts';
import type { Batching, InferenceRuntime, LoadOptions, RuntimeSession } from '../../runtime/runtime.ts';
import {
  FLOAT_TYPES,
  type FloatType,
  floatValues,
  NUMBER_TYPES,
  type NumberType,
  numberTensor,
  type Tensor,
} from '../../runtime/tensor.ts';
import { type ConditionName, named } from '../conditioning.ts';
import { loadRows, type RowsPlan } from '../folder/load-rows.ts';
import { type FedRow, type LatentSize, RowFeeds, type RowFeedsConfig } from '../row-feeds.ts';

/** What a ControlNet adds to each value of a UNet for one row, in the order of the UNet's inputs. */
export interface Residual {
  readonly values: Float32Array;
  /** `[channels, height, width]` */
  readonly dims: readonly number[];
}

export interface ControlledRow extends FedRow {
  /** `[3, height, width]` in pixels, from 0 to 1. */
  readonly picture: Float32Array;
}

const PICTURE = 'controlnet_cond';
/** Exporters leave it in where it was given as a tensor. Residuals are scaled for each row outside of the graph. */
const SCALE = 'conditioning_scale';
const CHANNELS = 3;
/** Pixels for each value of a latent, in a row or column: a ControlNet halves its picture three times. */
export const PIXELS = 8;

export type ControlNetPlan = Omit<RowsPlan, 'rewrites' | 'beside'> & RowFeedsConfig;

/** The parts of its config that change what its graph means. */
const ConfigSchema = z.looseObject({
  _class_name: z.string().optional(),
  conditioning_channels: z.number().optional(),
  global_pool_conditions: z.boolean().optional(),
});

/** Opens `model.onnx` and `config.json` of a folder. Throws LehrError `model-unavailable`; nothing stays loaded then. */
export async function openControlNet(
  folder: string,
  plan: ControlNetPlan,
  runtime: InferenceRuntime,
  options: LoadOptions,
): Promise<{ readonly net: ControlNet; readonly session: RuntimeSession }> {
  const config = await readConfigFile(join(folder, 'config.json'), ConfigSchema);
  const problem = problemOf(config);
  if (problem) throw unusable(`${folder} ${problem}.`);
  const path = join(folder, 'model.onnx');
  if (!existsSync(path)) throw unusable(`${folder} has no model.onnx.`);
  const make = (session: RuntimeSession, batching: Batching) => new ControlNet(session, batching, plan);
  const rows = { ...plan, beside: [PICTURE, SCALE] };
  const { model, session } = await loadRows(path, make, rows, runtime, options);
  return { net: model, session };
}

function problemOf(config: z.output<typeof ConfigSchema>): string | undefined {
  const { _class_name: kind = 'ControlNetModel', conditioning_channels: channels = CHANNELS } = config;
  if (kind !== 'ControlNetModel') return `holds a ${kind}, wanted a ControlNetModel`;
  if (channels !== CHANNELS) return `takes pictures of ${channels} channels, wanted ${CHANNELS}`;
  return config.global_pool_conditions
    ? 'has "global_pool_conditions", as ControlNets for shuffled pictures do, which Lehr does not run'
    : undefined;
}

export class ControlNet {
  readonly #session: RuntimeSession;
  readonly #inputs: RowFeeds;
  readonly #picture: { readonly name: string; readonly type: FloatType };
  readonly #scale:
    | { readonly name: string; readonly type: NumberType; readonly dims: readonly number[] }
    | undefined;
  readonly #pictures = new RowStack({ constant: true });

  /** Throws LehrError `model-unavailable` when the session is no ControlNet. */
  constructor(session: RuntimeSession, batching: Batching, config: RowFeedsConfig) {
    const inputs = session.inputs.map(({ name, dims }) => ({ name, rank: dims.length }));
    const [picture, scale] = [PICTURE, SCALE].map((name) => {
      const own = named(inputs, name)?.name;
      return session.inputs.find((input) => input.name === own);
    });
    if (!picture) {
      const names = inputs.map(({ name }) => name).join(', ');
      throw unusable(`The ControlNet has no input "${PICTURE}" (it has ${names}).`);
    }
    this.#session = session;
    this.#inputs = new RowFeeds('ControlNet', session, batching, config, [
      picture.name,
      ...(scale ? [scale.name] : []),
    ]);
    this.#picture = { name: picture.name, type: expectType('ControlNet', picture, FLOAT_TYPES) };
    this.#scale = scale && {
      name: scale.name,
      type: expectType('ControlNet', scale, NUMBER_TYPES),
      dims: scale.dims.map((dim) => (typeof dim === 'number' ? dim : 1)),
    };
  }

  get batching(): Batching {
    return this.#inputs.batching;
  }

  get inputChannels(): number {
    return this.#inputs.inputChannels;
  }

  get embeddingDim(): number {
    return this.#inputs.embeddingDim;
  }

  get conditions(): ReadonlyMap<ConditionName, number> {
    return this.#inputs.conditions;
  }

  get fixedRows(): number | undefined {
    return this.#inputs.fixedRows;
  }

  /** How many values of a UNet it adds to. */
  get outputs(): number {
    return this.#session.outputs.length;
  }

  sizeOr(size: LatentSize): LatentSize {
    return this.#inputs.sizeOr(size);
  }

  /** The residuals of each row. Throws what RuntimeSession.run throws. */
  async run(rows: readonly ControlledRow[], size: LatentSize): Promise<Residual[][]> {
    const results = rows.map((): Residual[] => []);
    const dims = [CHANNELS, size.height * PIXELS, size.width * PIXELS];
    for (const { rows: indices, batch, feeds } of this.#inputs.calls(rows, size)) {
      const pictures = batch.map(({ picture }) => picture);
      feeds[this.#picture.name] = this.#pictures.stack(this.#picture.type, pictures, [batch.length, ...dims]);
      if (this.#scale) feeds[this.#scale.name] = ones(this.#scale);
      const outputs = await this.#session.run(feeds);
      for (const { name } of this.#session.outputs) {
        const values = floatValues(outputs[name]);
        const length = values.length / batch.length;
        for (const [at, row] of indices.entries()) {
          const own = values.subarray(at * length, (at + 1) * length);
          results[row].push({ values: own, dims: outputs[name].dims.slice(1) });
        }
      }
    }
    return results;
  }

  /** Of the check at load: all residuals of each row, with one picture for all. */
  async results(rows: readonly FedRow[], size: LatentSize): Promise<Float32Array[]> {
    const picture = probePicture(size);
    const residuals = await this.run(
      rows.map((row) => ({ ...row, picture })),
      size,
    );
    return residuals.map((own) => joined(own.map(({ values }) => values)));
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Irregular values from 0 to 1. */
export const probePicture = ({ height, width }: LatentSize): Float32Array =>
  Float32Array.from(
    { length: CHANNELS * height * width * PIXELS ** 2 },
    (_, i) => 0.5 + 0.5 * Math.sin(i * i * 0.3 + i),
  );

const ones = ({ type, dims }: { readonly type: NumberType; readonly dims: readonly number[] }): Tensor =>
  numberTensor(type, new Array<number>(dims.reduce((count, dim) => count * dim, 1)).fill(1), dims);

const unusable = (problem: string): LehrError => new LehrError('model-unavailable', problem);
