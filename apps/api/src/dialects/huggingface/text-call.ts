/** Calls of the text tasks: the native request of a call, and the shape of its answer. */
import type { JobRequest, TextItem, TextJobType } from '@lehr/shared';
import { type Names, nativeRequest } from '../../jobs/requests/field-names.ts';
import { type Body, inputsOf, parametersOf } from './fields.ts';
import type { PipelineShape } from './pipeline-answer.ts';

const RENAMED: Readonly<Record<string, string>> = {
  '/input/function': '/parameters/function_to_apply',
  '/input/aggregation': '/parameters/aggregation_strategy',
};
/** Pointers into the body of a call. */
export const NAMES: Names = (pointer) =>
  RENAMED[pointer] ?? pointer.replace(/^\/input\/texts/, '/inputs').replace(/^\/input\//, '/parameters/');

/** Throws `invalid-input`. */
export function textRequest(type: TextJobType, model: string | undefined, body: Body): JobRequest {
  const inputs = inputsOf(type, body);
  const texts = (Array.isArray(inputs) ? inputs : [inputs]).map(itemOf);
  return nativeRequest({ type, model, input: { texts, ...optionsOf(type, body) } } as never, NAMES);
}

const itemOf = (input: string | { text: string; text_pair?: string | undefined }): TextItem => {
  if (typeof input === 'string') return input;
  return input.text_pair === undefined ? input.text : { text: input.text, pair: input.text_pair };
};

function optionsOf(type: TextJobType, body: Body): Record<string, unknown> {
  switch (type) {
    case 'text-embedding': {
      const { normalize, truncate, dimensions } = parametersOf(type, body);
      return { normalize, truncate, dimensions };
    }
    case 'text-classification': {
      const { top_k, function_to_apply, truncation, truncate } = parametersOf(type, body);
      return { top_k, function: function_to_apply, truncate: truncate ?? truncation };
    }
    case 'fill-mask': {
      const { top_k, truncation, truncate } = parametersOf(type, body);
      return { top_k, truncate: truncate ?? truncation };
    }
    case 'token-classification': {
      const { aggregation_strategy, ignore_labels, truncation, truncate } = parametersOf(type, body);
      return { aggregation: aggregation_strategy, ignore_labels, truncate: truncate ?? truncation };
    }
  }
}

/** Throws `invalid-input`. */
export function shapeOf(type: TextJobType, body: Body): PipelineShape {
  const isEmbedding = type === 'text-embedding';
  const isTokens = type === 'token-classification';
  return {
    dialect: 'huggingface',
    type,
    isOne: !Array.isArray(body.inputs),
    format: (isEmbedding && parametersOf(type, body).encoding_format) || 'float',
    labelField:
      isTokens && parametersOf(type, body).aggregation_strategy === 'none' ? 'entity' : 'entity_group',
  };
}
