/** The events of a job that callers can follow while it runs. */
import { z } from 'zod';
import { JobSchema, ProgressSchema } from './job.ts';

const event = <Type extends string, Data extends z.ZodType>(type: Type, data: Data) =>
  z.object({ type: z.literal(type), timestamp: z.iso.datetime(), data });

const id = z.string();

/** A thumbnail of an unfinished picture. Previews are not stored and not numbered: a missed one cannot be read later. */
export const PreviewSchema = z
  .object({
    id: id.meta({ description: 'The job of the picture: this one, or one of its nodes.' }),
    step: z.int().nonnegative(),
    steps: z.int().positive(),
    index: z.int().nonnegative().meta({ description: 'Which picture of the job.' }),
    content_type: z.string(),
    data: z.base64().meta({ description: 'An image of at most 64 x 64 pixels.' }),
  })
  .meta({ id: 'Preview' });
export type Preview = z.output<typeof PreviewSchema>;

/** A part of a job's text that is final while the job still runs. */
export const OutputPartSchema = z.object({
  text: z.string().meta({ description: 'The new part; all parts joined are the whole text.' }),
  offset: z.int().nonnegative().meta({
    description:
      'Characters before this part. It falls back when the job starts again after its worker was lost.',
  }),
});

/** `job.scheduled` is the first event of a job with `run_at`. `job.queued` can be repeated: a job whose worker is lost goes back into its queue, and one that is moved to another version waits again. */
export const JobEventSchema = z
  .discriminatedUnion('type', [
    event('job.scheduled', z.object({ id, status: z.literal('scheduled') })),
    event('job.queued', z.object({ id, status: z.literal('queued') })),
    event('job.started', z.object({ id, status: z.literal('running') })),
    event('job.progress', z.object({ id, ...ProgressSchema.shape })),
    event('job.preview', PreviewSchema),
    event('job.output', z.object({ id, ...OutputPartSchema.shape })),
    event('job.succeeded', JobSchema),
    event('job.failed', JobSchema),
    event('job.canceled', JobSchema),
    event('job.expired', JobSchema),
  ])
  .meta({ id: 'JobEvent' });
export type JobEvent = z.output<typeof JobEventSchema>;
