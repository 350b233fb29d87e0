/** A workflow: a DAG of nodes. Each node is a job on a worker that serves its model, and can use the results of earlier nodes. */
import { z } from 'zod';
import { PictureTransformRequestSchema } from './picture-transform.ts';
import { SpeechToTextRequestSchema, transcriptionOptions } from './speech-to-text.ts';
import {
  FillMaskRequestSchema,
  TextClassificationRequestSchema,
  TextEmbeddingRequestSchema,
  TokenClassificationRequestSchema,
} from './text.ts';
import { TextToImageRequestSchema } from './text-to-image.ts';

export const MAX_NODES = 16;

const node = {
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a lower-case name of up to 32 letters, digits, - and _')
    .meta({ description: 'Other nodes refer to it by this name.' }),
  model: z.string().min(1).max(200).optional(),
};

const work = <Type extends string, Input extends z.ZodType>(type: Type, input: Input) =>
  z.strictObject({ ...node, type: z.literal(type), input });

/** Strings of a node's input may contain `{{node.field}}`, which is filled in when that node has succeeded. */
export const WorkflowNodeSchema = z
  .discriminatedUnion('type', [
    work('text-to-image', TextToImageRequestSchema),
    work('speech-to-text', SpeechToTextRequestSchema),
    work('picture-transform', PictureTransformRequestSchema),
    work('text-embedding', TextEmbeddingRequestSchema),
    work('text-classification', TextClassificationRequestSchema),
    work('fill-mask', FillMaskRequestSchema),
    work('token-classification', TokenClassificationRequestSchema),
  ])
  .meta({ id: 'WorkflowNode' });
export type WorkflowNode = z.output<typeof WorkflowNodeSchema>;

export const WorkflowNodesSchema = z.array(WorkflowNodeSchema).min(1).max(MAX_NODES);

/** Speech to picture: the fields of both tasks; the transcript becomes the prompt. */
export const SpeechToImageRequestSchema = TextToImageRequestSchema.omit({ prompt: true })
  .extend({
    audio: SpeechToTextRequestSchema.shape.audio,
    language: transcriptionOptions.language,
    task: transcriptionOptions.task,
  })
  .meta({ id: 'SpeechToImageInput' });
export type SpeechToImageRequest = z.output<typeof SpeechToImageRequestSchema>;

/** The ids of the two nodes of a speech-to-image job. */
export const SPEECH_TO_IMAGE_NODES = { listen: 'transcribe', draw: 'draw' } as const;

/** The workflow that a speech-to-image request stands for; `model` is `whisper+diffusion`, either half may be missing. */
export function speechToImageNodes(request: SpeechToImageRequest, model: string | undefined): WorkflowNode[] {
  const { audio, language, task, ...picture } = request;
  const [whisper, diffusion] = model?.split('+', 2) ?? [];
  const { listen, draw } = SPEECH_TO_IMAGE_NODES;
  return [
    { id: listen, type: 'speech-to-text', model: whisper || undefined, input: { audio, language, task } },
    {
      id: draw,
      type: 'text-to-image',
      model: diffusion || undefined,
      input: { prompt: `{{${listen}.text}}`, ...picture },
    },
  ];
}
