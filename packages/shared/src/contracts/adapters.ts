/** Adapters (LoRA) of a picture: which of its model's, and how strongly each acts. */
import { z } from 'zod';

/** In models.yaml, of one model. */
export const MAX_MODEL_ADAPTERS = 64;
/** Of one request. */
export const MAX_ADAPTERS = 8;
export const MAX_ADAPTER_SCALE = 10;

/** Factor of what an adapter adds: 1 is as it was trained, 0 nothing, and below 0 the opposite. */
export const ADAPTER_SCALE = z.number().min(-MAX_ADAPTER_SCALE).max(MAX_ADAPTER_SCALE);

const name = z.string().min(1).max(64);

export const AdaptersRequestSchema = z
  .array(
    z.strictObject({
      name: name.meta({ description: "One of the model's `adapters`." }),
      scale: ADAPTER_SCALE.optional().meta({
        description:
          'How strongly it acts: 1 as it was trained, 0 not at all, below 0 the opposite. Default: that of the model, which is 1 if models.yaml says nothing.',
      }),
    }),
  )
  .max(MAX_ADAPTERS)
  .meta({
    description:
      'Adapters (LoRA) that act on this picture, several at once. With `prompt_syntax: weighted`, `<lora:NAME:0.8>` in `prompt` does the same.',
    example: [{ name: 'demo-lines', scale: 0.8 }],
  });

/** With all scales filled in, as records keep them and PNG files tell them. */
export const AdaptersSchema = z
  .array(z.strictObject({ name, scale: ADAPTER_SCALE }))
  .min(1)
  .max(MAX_ADAPTERS);
export type AdapterUse = z.output<typeof AdaptersSchema>[number];
