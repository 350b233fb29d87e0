/** What a caller hears of a job while it happens. */
import { z } from 'zod';
import { JobSchema, ProgressSchema } from './job.ts';

const event = <Type extends string, Data extends z.ZodType>(type: Type, data: Data) =>
  z.object({ type: z.literal(type), timestamp: z.iso.datetime(), data });

const id = z.string();

/** A thumbnail of a picture as it is now. Never stored and never numbered: one that is missed is gone. */
export const PreviewSchema = z
  .object({
    id: id.meta({ description: 'The job whose picture it is: this one, or a node of it.' }),
    step: z.int().nonnegative(),
    steps: z.int().positive(),
    index: z.int().nonnegative().meta({ description: 'Which picture of the job.' }),
    content_type: z.string(),
    data: z.base64().meta({ description: 'An image of at most 64 x 64 pixels, for a page to enlarge.' }),
  })
  .meta({ id: 'Preview' });
export type Preview = z.output<typeof PreviewSchema>;

/** A part of a job's text that is final while the rest is still to come. */
export const OutputPartSchema = z.object({
  text: z.string().meta({ description: 'What is new of it; all of them joined are the whole text.' }),
  offset: z.int().nonnegative().meta({
    description: 'Characters that came before. It falls back when a lost worker has the job begun anew.',
  }),
});

/** `job.queued` may come again: a job whose worker is lost goes back into its queue. */
export const JobEventSchema = z
  .discriminatedUnion('type', [
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
