/** Adapters (LoRA) of a picture: which of its model's, and how strongly each acts. */
import { z } from 'zod';

/** In models.yaml, of one model. */
export const MAX_MODEL_ADAPTERS = 64;
/** Of one request. */
const MAX_ADAPTERS = 8;
const MAX_ADAPTER_SCALE = 10;

/** Factor of what an adapter adds: 1 is as it was trained, 0 nothing, and below 0 the opposite. */
export const ADAPTER_SCALE = z.number().min(-MAX_ADAPTER_SCALE).max(MAX_ADAPTER_SCALE);

const name = z.string().min(1).max(64);

/** With all scales filled in, as records keep them and PNG files tell them. */
export const AdaptersSchema = z
  .array(z.strictObject({ name, scale: ADAPTER_SCALE }))
  .min(1)
  .max(MAX_ADAPTERS);
