/** Calls of the text tasks: the native request of a call, and the answer in the shape of transformers' pipelines. */
import type { Entity, JobRequest, TextItem, TextJobType } from '@lehr/shared';
import { type Names, nativeRequest } from '../../calls/names.ts';
import { embeddingsIn, type TextResult } from '../../jobs/text-result.ts';
import { type Body, inputsOf, parametersOf } from './fields.ts';

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

/** The answer to one text has no list around it, but for text classification, where the clients expect one. */
export function textAnswer(type: TextJobType, body: Body, result: TextResult): unknown {
  const isOne = !Array.isArray(body.inputs);
  const each = resultsOf(type, body, result);
  return isOne && type !== 'text-classification' ? each[0] : each;
}

function resultsOf(type: TextJobType, body: Body, result: TextResult): readonly unknown[] {
  switch (type) {
    case 'text-embedding':
      return embeddingsIn(result, parametersOf(type, body).encoding_format ?? 'float');
    case 'text-classification':
      return result.labels ?? [];
    case 'fill-mask':
      // A text with one mask has its tokens without a list of masks.
      return (result.fills ?? []).map((masks) => (masks.length === 1 ? masks[0] : masks));
    case 'token-classification': {
      const name = parametersOf(type, body).aggregation_strategy === 'none' ? 'entity' : 'entity_group';
      return (result.entities ?? []).map((entities) => entities.map((entity) => renamed(entity, name)));
    }
  }
}

const renamed = ({ label, ...entity }: Entity, name: 'entity' | 'entity_group'): Record<string, unknown> => ({
  [name]: label,
  ...entity,
});
