import { type ImageFormat, TextToImageInputSchema } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

export interface Picture {
  readonly size: string;
  readonly output_format: ImageFormat;
  readonly background: 'opaque';
}

/** What OpenAI's answers say of every picture of a text-to-image job. */
export function pictureOf({ input }: JobRecord): Picture {
  const { width, height, output_format } = TextToImageInputSchema.parse(input);
  return { size: `${width}x${height}`, output_format, background: 'opaque' };
}
