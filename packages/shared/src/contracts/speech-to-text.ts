/** The request of a speech-to-text job, the complete input that the worker gets, and the transcript. */
import { z } from 'zod';
import { MAX_MEDIA_REFERENCE, MediaSourceSchema } from './media-source.ts';

/** Far more characters than fit into half of Whisper's context; the model uses the end of the prompt. */
const MAX_PROMPT_LENGTH = 4_000;

export const TIMESTAMPS = ['segment', 'word'] as const;
export const LONG_FORM_MODES = ['sequential', 'fast'] as const;

/** All fields but the audio. */
export const transcriptionOptions = {
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/, 'must be an ISO 639-1 code such as en')
    .optional()
    .meta({ description: 'Spoken language, ISO 639-1. Absent: detected.' }),
  task: z.enum(['transcribe', 'translate']).optional().meta({
    description: '`translate` writes English, whatever language is spoken; needs a multilingual model.',
  }),
  prompt: z
    .string()
    .max(MAX_PROMPT_LENGTH)
    .refine((text) => !text.includes('\0'), 'must not contain a null byte')
    .optional()
    .meta({ description: 'Text that could precede the audio; sets names, spelling and style.' }),
  temperature: z.number().min(0).max(1).optional().meta({
    description: '0 decodes greedily, with sampling as the fallback.',
  }),
  timestamps: z.enum(TIMESTAMPS).optional().meta({ description: 'Granularity of the timestamps.' }),
  mode: z.enum(LONG_FORM_MODES).optional().meta({
    description:
      'Long audio. `sequential`: one window after the other, each prompted with the text before it. `fast`: cuts at silences and runs all windows at once.',
  }),
} as const;

export const SpeechToTextRequestSchema = z
  .strictObject({
    audio: z.string().min(1).max(MAX_MEDIA_REFERENCE).meta({
      description: 'An http(s) URL, a `data:` URI, or the link of an uploaded file.',
      example: 'https://app.example/memo.wav',
    }),
    ...transcriptionOptions,
  })
  .meta({ id: 'SpeechToTextInput' });
export type SpeechToTextRequest = z.output<typeof SpeechToTextRequestSchema>;

/** The input with every default filled in. */
export const SpeechToTextInputSchema = z.strictObject({
  audio: MediaSourceSchema,
  language: z.string().nullable(),
  task: z.enum(['transcribe', 'translate']),
  prompt: z.string(),
  temperature: z.number(),
  timestamps: z.enum(TIMESTAMPS),
  mode: z.enum(LONG_FORM_MODES),
});
export type SpeechToTextInput = z.output<typeof SpeechToTextInputSchema>;

export const SegmentSchema = z
  .object({
    id: z.int().nonnegative(),
    seek: z.int().nonnegative().meta({ description: 'Start of its window, in frames of 10 ms.' }),
    start: z.number(),
    end: z.number(),
    text: z.string(),
    tokens: z.array(z.int()),
    temperature: z.number(),
    avg_logprob: z.number(),
    compression_ratio: z.number(),
    no_speech_prob: z.number(),
  })
  .meta({ id: 'Segment' });
export type Segment = z.output<typeof SegmentSchema>;

export const WordSchema = z
  .object({ word: z.string(), start: z.number(), end: z.number() })
  .meta({ id: 'Word' });
export type Word = z.output<typeof WordSchema>;

export const TranscriptSchema = z
  .object({
    text: z.string(),
    language: z.string().meta({ description: 'ISO 639-1 code.' }),
    duration: z.number().meta({ description: 'Seconds of audio.' }),
    task: z.enum(['transcribe', 'translate']),
    segments: z.array(SegmentSchema),
    words: z.array(WordSchema).optional(),
  })
  .meta({ id: 'Transcript' });
export type Transcript = z.output<typeof TranscriptSchema>;
