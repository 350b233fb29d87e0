/** The events of a streamed picture call: previews, then each finished picture. */
import { type Clock, IMAGE_FORMATS, type JobEvent } from '@lehr/shared';
import type { ObjectStore } from '@lehr/shared/objects';
import type { JobRecord } from '@lehr/shared/records';
import type { SucceededRecord } from '../../jobs/requests/hold.ts';
import { readImage } from '../read-image.ts';
import type { CallEventMapper } from './call-events.ts';
import type { ImageEvent } from './image-contract.ts';
import { pictureOf } from './picture.ts';

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
  partials: number,
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
        type: 'image_generation.partial_image',
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
          type: 'image_generation.completed',
          ...common,
          b64_json: Buffer.from(await readImage(store, image)).toString('base64'),
          created_at: Math.floor(finished_at / 1000),
          usage: NO_USAGE,
        };
      }
    },
  };
}
