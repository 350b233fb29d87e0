/** Where the audio or the picture of a job is. */
import { z } from 'zod';

/** A data URI of this length holds about 10 MB; larger files must be uploaded or linked. */
export const MAX_MEDIA_REFERENCE = 14_000_000;

/** In the object store, or at a URL that the worker fetches through the egress guard. */
export const MediaSourceSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('object'), key: z.string() }),
  z.strictObject({ kind: z.literal('url'), url: z.string() }),
]);
export type MediaSource = z.output<typeof MediaSourceSchema>;

/** The first picture of another node of the workflow, or its latent; it becomes an object when that node has succeeded. */
export const NodePictureSchema = z.strictObject({
  kind: z.literal('node'),
  node: z.string(),
  field: z.enum(['image', 'latent']).default('image'),
});
export type NodePicture = z.output<typeof NodePictureSchema>;
