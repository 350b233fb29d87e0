/** JSON Schemas of the inputs and outputs of a model, in Replicate's field names. */
import { z } from '@hono/zod-openapi';
import { type ModelEntry, SpeechToTextRequestSchema, TextToImageRequestSchema } from '@lehr/shared';
import { NATIVE } from './prediction-input.ts';

type JsonSchema = Record<string, unknown>;

/** Fields in the order of the documentation, with the defaults of the model. */
export function inputSchema(entry: ModelEntry): JsonSchema {
  const isSpeech = entry.task === 'whisper';
  const names = NATIVE[isSpeech ? 'speech-to-text' : 'text-to-image'];
  const { shape } = isSpeech ? SpeechToTextRequestSchema : TextToImageRequestSchema;
  const defaults: Readonly<Record<string, unknown>> = isSpeech ? {} : entry.defaults;
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
  const properties = {
    text: { type: 'string' },
    language: { type: 'string' },
    duration: { type: 'number' },
    segments: { type: 'array', items: { type: 'object' } },
  };
  return { title: 'Output', type: 'object', properties, required: ['text'] };
}
