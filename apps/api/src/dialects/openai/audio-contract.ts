/** Transcripts as OpenAI's clients read them. */
import { z } from '@hono/zod-openapi';
import { SegmentSchema, WordSchema } from '@lehr/shared';

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
