/** What the picture calls of OpenAI's clients answer: whole, or as events. */
import {
  type Clock,
  IMAGE_FORMATS,
  type ImageFormat,
  type JobEvent,
  TextToImageInputSchema,
} from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobRecord } from '@lehr/shared/records';
import type { SucceededRecord } from '../../jobs/requests/hold.ts';
import type { JobParts, PlaceParts } from '../../parts.ts';
import { readImage } from '../read-image.ts';
import type { CallEventMapper } from './call-events.ts';
import type { ImageEvent, ImageRequest, Images } from './image-contract.ts';

/** The native fields of `size`. */
export function sidesOf(size: string | undefined): {
  width?: number | undefined;
  height?: number | undefined;
} {
  const [width, height] = size === undefined || size === 'auto' ? [] : size.split('x').map(Number);
  return { width, height };
}

/** For the names of a picture call. */
export const SIZE_NAMES = { '/input/width': '/size', '/input/height': '/size' };

export async function imagesOf(
  { presenter, store }: Pick<JobParts & PlaceParts, 'presenter' | 'store'>,
  record: SucceededRecord,
  format: ImageRequest['response_format'],
): Promise<Images> {
  const { output } = await presenter.job(record);
  const links = output?.images ?? [];
  const data = await Promise.all(
    record.output.images.map(async (image, i) => ({
      ...(format !== 'b64_json' && { url: links[i]?.url }),
      ...(format !== 'url' && { b64_json: Buffer.from(await readImage(store, image)).toString('base64') }),
    })),
  );
  return { created: Math.floor(record.finished_at / 1000), data, ...pictureOf(record) };
}

/** OpenAI's clients require the fields; Lehr counts no tokens. */
const NO_USAGE = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  input_tokens_details: { image_tokens: 0, text_tokens: 0 },
};

/** `partials` is the most previews that are sent. */
export function imageEventMapper(
  { store, clock }: { readonly store: ObjectStore; readonly clock: Clock },
  record: JobRecord,
  name: 'image_generation' | 'image_edit',
  partials = 0,
): CallEventMapper {
  const common = { ...pictureOf(record), quality: 'auto' as const };
  let sent = 0;
  return {
    previews: partials > 0,
    during: (event: JobEvent): ImageEvent | undefined => {
      if (event.type !== 'job.preview') return undefined;
      const { step, steps, content_type, data } = event.data;
      // The first preview is sent at once, the others spread evenly over the steps.
      if (sent === partials || step / steps < sent / partials) return undefined;
      return {
        type: `${name}.partial_image`,
        ...common,
        output_format: IMAGE_FORMATS.find((each) => content_type === `image/${each}`) ?? common.output_format,
        b64_json: data,
        created_at: Math.floor(clock.now() / 1000),
        partial_image_index: sent++,
      };
    },
    after: async function* ({ output, finished_at }: SucceededRecord): AsyncGenerator<ImageEvent> {
      for (const image of output.images) {
        yield {
          type: `${name}.completed`,
          ...common,
          b64_json: Buffer.from(await readImage(store, image)).toString('base64'),
          created_at: Math.floor(finished_at / 1000),
          usage: NO_USAGE,
        };
      }
    },
  };
}

interface Picture {
  readonly size: string;
  readonly output_format: ImageFormat;
  readonly background: 'opaque';
}

/** The facts that OpenAI's answers give about every picture of a job. */
function pictureOf({ input }: JobRecord): Picture {
  const { width, height, output_format } = TextToImageInputSchema.parse(input);
  return { size: `${width}x${height}`, output_format, background: 'opaque' };
}
