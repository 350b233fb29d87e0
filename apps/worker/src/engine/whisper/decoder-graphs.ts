/** Inputs, outputs and sizes of a Whisper decoder's graphs, read from the graphs. */
import { LehrError } from '@lehr/shared';
import { expectOutput, expectSize, expectType } from '../runtime/graph-values.ts';
import type { RuntimeSession, ValueInfo } from '../runtime/runtime.ts';
import { FLOAT_TYPES, type FloatType } from '../runtime/tensor.ts';

/** For the first call of a text, and for every later call: the same session twice when the graphs are merged. */
export interface DecoderSessions {
  readonly first: RuntimeSession;
  readonly next: RuntimeSession;
}

export interface DecoderSizes {
  readonly layers: number;
  readonly heads: number;
  readonly headSize: number;
  readonly width: number;
  /** The most tokens of a text, prompt included. */
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
/** Added by whisper/folder/rewire-decoder.ts. `[batch, 1]`, int64: the position of the new token in its row's text. */
export const POSITIONS_INPUT = 'lehr.positions';
/** Added with it. `[batch, 1, 1, slot + 1]`: 0 where a row has a token, very negative where its slot is empty. */
export const MASK_INPUT = 'lehr.mask';
const KNOWN_INPUT =
  /^(input_ids|encoder_hidden_states|use_cache_branch|cache_position|past_key_values\.\d+\.(decoder|encoder)\.(key|value))$/;

/** Names of one tensor per layer for keys and one for values: key 0, value 0, key 1, and so on. */
export const layerNames = (
  layers: number,
  kind: 'past_key_values' | 'present',
  side: 'decoder' | 'encoder',
): string[] =>
  Array.from({ length: layers }, (_, i) => [`${kind}.${i}.${side}.key`, `${kind}.${i}.${side}.value`]).flat();

const hasInput = ({ inputs }: RuntimeSession, name: string): boolean =>
  inputs.some((input) => input.name === name);

/** Throws LehrError `model-unavailable` when these are not a Whisper decoder's graphs, or do not fit this config. */
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

/** Layers whose cross-attentions are outputs of the graph. */
export const attendedLayers = ({ outputs }: RuntimeSession): number[] =>
  outputs.flatMap(({ name }) => {
    const layer = /^cross_attentions\.(\d+)$/.exec(name)?.[1];
    return layer === undefined ? [] : [Number(layer)];
  });

function refuseUnknownInputs({ inputs }: RuntimeSession): void {
  const unknown = inputs.find(
    ({ name }) => !KNOWN_INPUT.test(name) && name !== POSITIONS_INPUT && name !== MASK_INPUT,
  );
  if (unknown) throw unusable(`it wants an input "${unknown.name}" that Lehr does not know`);
}

function inputNamed({ inputs }: RuntimeSession, name: string): ValueInfo {
  const input = inputs.find((candidate) => candidate.name === name);
  if (!input) throw unusable(`it has no input "${name}"`);
  return input;
}

const unusable = (problem: string): LehrError =>
  new LehrError('model-unavailable', `The decoder graph cannot be used: ${problem}.`);
