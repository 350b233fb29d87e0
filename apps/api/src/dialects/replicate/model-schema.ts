/** JSON Schemas of the inputs and outputs of a model, in Replicate's field names. */
import { z } from '@hono/zod-openapi';
import {
  FillMaskRequestSchema,
  type ModelEntry,
  SpeechToTextRequestSchema,
  TextClassificationRequestSchema,
  TextEmbeddingRequestSchema,
  TextOutputSchema,
  TextToImageRequestSchema,
  TokenClassificationRequestSchema,
} from '@lehr/shared';
import { NATIVE } from './prediction-input.ts';
import { typeOf } from './wanted-model.ts';

type JsonSchema = Record<string, unknown>;

const REQUESTS = {
  'text-to-image': TextToImageRequestSchema,
  'speech-to-text': SpeechToTextRequestSchema,
  'text-embedding': TextEmbeddingRequestSchema,
  'text-classification': TextClassificationRequestSchema,
  'fill-mask': FillMaskRequestSchema,
  'token-classification': TokenClassificationRequestSchema,
};

/** Fields in the order of the documentation, with the defaults of the model. */
export function inputSchema(entry: ModelEntry): JsonSchema {
  const type = typeOf(entry);
  const names = NATIVE[type];
  const { shape } = REQUESTS[type];
  const defaults: Readonly<Record<string, unknown>> = entry.task === 'diffusion' ? entry.defaults : {};
  const fields: Readonly<Record<string, z.ZodType>> = shape;
  const properties = Object.entries(names).map(([name, native], order) => {
    const { $schema: _, ...schema } = z.toJSONSchema(fields[native], { io: 'input' });
    const fallback = defaults[native];
    const own = { title: name, 'x-order': order, ...(fallback !== undefined && { default: fallback }) };
    return [name, { ...schema, ...own }] as const;
  });
  const required = Object.keys(names).filter((name) => !fields[names[name]].isOptional());
  return { title: 'Input', type: 'object', properties: Object.fromEntries(properties), required };
}

/** As `output` of a prediction. */
export function outputSchema({ task }: ModelEntry): JsonSchema {
  if (task === 'diffusion') {
    return { title: 'Output', type: 'array', items: { type: 'string', format: 'uri' } };
  }
  if (task === 'text') {
    const { $schema: _, ...schema } = z.toJSONSchema(TextOutputSchema);
    return { title: 'Output', ...schema };
  }
  const properties = {
    text: { type: 'string' },
    language: { type: 'string' },
    duration: { type: 'number' },
    segments: { type: 'array', items: { type: 'object' } },
  };
  return { title: 'Output', type: 'object', properties, required: ['text'] };
}
