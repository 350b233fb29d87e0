/** Audio calls as OpenAI's clients make them: the multipart fields and the file, in any order, and the answers. */
import { z } from '@hono/zod-openapi';
import {
  SegmentSchema,
  SpeechToTextRequestSchema,
  TIMESTAMPS,
  TRANSCRIPT_FORMATS,
  WordSchema,
} from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { bodyRefusal } from '../../http/middleware/validation.ts';
import type { Multipart, ReceivedFile } from '../../jobs/files/multipart.ts';
import { inNames, type Names } from '../../jobs/requests/field-names.ts';
import { nullsAsAbsent } from '../without-nulls.ts';

/** The name of a repeated part ends with this. */
const LIST = '[]';
const GRANULARITIES_PART = `timestamp_granularities${LIST}`;

const PART_NAMES: Names = (pointer) =>
  pointer.replace(/^\/timestamp_granularities.*/, `/${GRANULARITIES_PART}`);

const { language, prompt } = SpeechToTextRequestSchema.shape;

const common = {
  model: z.string().min(1).max(200).meta({ example: 'demo-whisper' }),
  prompt,
  response_format: z.enum(TRANSCRIPT_FORMATS).default('json'),
  // Parts are strings.
  temperature: z
    .string()
    .transform(Number)
    .pipe(z.number().min(0).max(1))
    .optional()
    .meta({ description: 'From 0 to 1.', type: 'number', minimum: 0, maximum: 1 }),
  stream: z.enum(['true', 'false']).default('false'),
  timestamp_granularities: z.array(z.enum(TIMESTAMPS)).default([]).meta({
    description: 'Needs `verbose_json`; `word` needs a model that can time words.',
  }),
};

export const TranscriptionFieldsSchema = z.object({ ...common, language });
export const TranslationFieldsSchema = z.object({ ...common, stream: z.enum(['false']).default('false') });
export type AudioFields = z.output<typeof TranscriptionFieldsSchema>;

/** Throws `invalid-input` when the file is missing or empty. */
export function audioFile({ files }: Multipart): ReceivedFile {
  const file = files.find(({ field }) => field === 'file');
  if (!file) {
    throw refusal('invalid-input', [{ pointer: '/file', detail: 'is required' }]);
  }
  if (file.bytes.byteLength === 0) {
    throw refusal('invalid-input', [{ pointer: '/file', detail: 'is empty' }]);
  }
  return file;
}

/** Ignores parts that are empty or unknown. Throws `invalid-input`. */
export function audioFields(
  schema: typeof TranscriptionFieldsSchema | typeof TranslationFieldsSchema,
  { fields }: Multipart,
): AudioFields {
  const given: Record<string, string | string[]> = {};
  for (const [part, value] of fields) {
    const name = part.endsWith(LIST) ? part.slice(0, -LIST.length) : part;
    if (value === '' || !Object.hasOwn(schema.shape, name)) continue;
    if (name !== 'timestamp_granularities') given[name] = value;
    else given[name] = [...(given[name] ?? []), value];
  }
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw inNames(bodyRefusal(parsed.error), PART_NAMES);
  return withTimes(parsed.data, `/${GRANULARITIES_PART}`);
}

/** Throws `invalid-input` when times are asked for that the answer does not show. */
function withTimes<Fields extends Pick<AudioFields, 'timestamp_granularities' | 'response_format'>>(
  fields: Fields,
  pointer: string,
): Fields {
  if (fields.timestamp_granularities.length === 0 || fields.response_format === 'verbose_json') return fields;
  throw refusal('invalid-input', [{ pointer, detail: 'needs response_format verbose_json' }]);
}

const { temperature: _, stream: __, ...sharedFields } = TranscriptionFieldsSchema.shape;

/** A transcription in a line of a batch, which is JSON: its file has been uploaded before, or is at a URL. */
const TranscriptionLineSchema = nullsAsAbsent({
  ...sharedFields,
  file: z.string().min(1),
  temperature: z.number().min(0).max(1).optional(),
});
export type TranscriptionLine = z.output<typeof TranscriptionLineSchema>;

/** Throws `invalid-input`. */
export function transcriptionLine(body: unknown): TranscriptionLine {
  const parsed = TranscriptionLineSchema.safeParse(body);
  if (!parsed.success) throw bodyRefusal(parsed.error);
  return withTimes(parsed.data, '/timestamp_granularities');
}

const usage = z.object({ type: z.literal('duration'), seconds: z.number() });

export const TranscriptionSchema = z
  .union([
    z.object({
      task: z.enum(['transcribe', 'translate']),
      language: z.string().meta({ description: 'English name of the language.' }),
      duration: z.number().meta({ description: 'Seconds.' }),
      text: z.string(),
      segments: z.array(SegmentSchema),
      words: z.array(WordSchema).optional(),
      usage,
    }),
    z.object({ text: z.string(), usage }),
  ])
  .meta({ id: 'OpenAiTranscription' });

export const TranscriptEventSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('transcript.text.delta'), delta: z.string() }),
    z.object({ type: z.literal('transcript.text.done'), text: z.string() }),
  ])
  .meta({ id: 'OpenAiTranscriptEvent' });
export type TranscriptEvent = z.output<typeof TranscriptEventSchema>;
