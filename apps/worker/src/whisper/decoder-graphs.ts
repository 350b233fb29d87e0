/** What a Whisper decoder's graphs take and give, read from the graphs themselves. */
import { LehrError } from '@lehr/shared';
import { expectOutput, expectSize, expectType } from '../diffusion/graph-values.ts';
import { MASK_INPUT, POSITIONS_INPUT } from '../models/rewire-decoder.ts';
import type { RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import { FLOAT_TYPES, type FloatType } from '../runtime/tensor.ts';

/** The call that begins a text, and every call after it: one merged graph for both, or one each. */
export interface DecoderSessions {
  readonly first: RuntimeSession;
  readonly next: RuntimeSession;
}

export interface DecoderSizes {
  readonly layers: number;
  readonly heads: number;
  readonly headSize: number;
  readonly width: number;
  /** Tokens of a text at most, the prompt's included. */
  readonly maxTokens: number;
  readonly audioPositions: number;
  readonly vocabularySize: number;
  readonly tokenType: 'int64' | 'int32';
  /** Of keys, values and audio features. */
  readonly floatType: FloatType;
}

export interface DecoderConfig {
  readonly decoder_layers: number;
  readonly decoder_attention_heads: number;
  readonly d_model: number;
  readonly max_source_positions: number;
  readonly max_target_positions: number;
  readonly vocab_size: number;
}

export const USE_CACHE = 'use_cache_branch';
export const CACHE_POSITION = 'cache_position';
const KNOWN_INPUT =
  /^(input_ids|encoder_hidden_states|use_cache_branch|cache_position|past_key_values\.\d+\.(decoder|encoder)\.(key|value))$/;

/** Names of a layer-by-layer set of tensors, keys and values by turns. */
export const layerNames = (
  layers: number,
  kind: 'past_key_values' | 'present',
  side: 'decoder' | 'encoder',
): string[] =>
  Array.from({ length: layers }, (_, i) => [`${kind}.${i}.${side}.key`, `${kind}.${i}.${side}.value`]).flat();

export const hasInput = ({ inputs }: RuntimeSession, name: string): boolean =>
  inputs.some((input) => input.name === name);

/** Throws LehrError `model-unavailable` when these are no Whisper decoder's graphs, or not those of this config. */
export function readDecoderSizes({ first, next }: DecoderSessions, config: DecoderConfig): DecoderSizes {
  for (const session of [first, next]) refuseUnknownInputs(session);
  const ids = inputNamed(first, 'input_ids');
  const past = inputNamed(next, 'past_key_values.0.decoder.key');
  for (const name of layerNames(config.decoder_layers, 'past_key_values', 'encoder')) inputNamed(next, name);
  if (hasInput(next, `past_key_values.${config.decoder_layers}.decoder.key`)) {
    throw unusable(`it has more layers than the ${config.decoder_layers} of config.json`);
  }
  if (typeof ids.dims[0] === 'number') throw unusable(`it was exported for ${ids.dims[0]} rows a call`);
  const heads = config.decoder_attention_heads;
  return {
    layers: config.decoder_layers,
    heads: expectSize('decoder', past, 1, heads),
    headSize: expectSize('decoder', past, 3, config.d_model / heads),
    width: expectSize('decoder', inputNamed(first, 'encoder_hidden_states'), 2, config.d_model),
    maxTokens: config.max_target_positions,
    audioPositions: config.max_source_positions,
    vocabularySize: expectSize('decoder', expectOutput('decoder', first, ['logits']), 2, config.vocab_size),
    tokenType: expectType('decoder', ids, ['int64', 'int32']),
    floatType: expectType('decoder', past, FLOAT_TYPES),
  };
}

/** Layers whose cross-attentions the graph gives out. */
export const attendedLayers = ({ outputs }: RuntimeSession): number[] =>
  outputs.flatMap(({ name }) => {
    const layer = /^cross_attentions\.(\d+)$/.exec(name)?.[1];
    return layer === undefined ? [] : [Number(layer)];
  });

function refuseUnknownInputs({ inputs }: RuntimeSession): void {
  const stranger = inputs.find(
    ({ name }) => !KNOWN_INPUT.test(name) && name !== POSITIONS_INPUT && name !== MASK_INPUT,
  );
  if (stranger) throw unusable(`it wants an input "${stranger.name}" that Lehr does not know`);
}

function inputNamed({ inputs }: RuntimeSession, name: string): ValueInfo {
  const input = inputs.find((candidate) => candidate.name === name);
  if (!input) throw unusable(`it has no input "${name}"`);
  return input;
}

const unusable = (problem: string): LehrError =>
  new LehrError('model-unavailable', `The decoder graph cannot be used: ${problem}.`);
