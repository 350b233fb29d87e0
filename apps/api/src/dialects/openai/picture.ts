import { type ImageFormat, TextToImageInputSchema } from '@lehr/shared';
import type { JobRecord } from '@lehr/shared/records';

export interface Picture {
  readonly size: string;
  readonly output_format: ImageFormat;
  readonly background: 'opaque';
}

/** The facts that OpenAI's answers give about every picture of a job. */
export function pictureOf({ input }: JobRecord): Picture {
  const { width, height, output_format } = TextToImageInputSchema.parse(input);
  return { size: `${width}x${height}`, output_format, background: 'opaque' };
}
