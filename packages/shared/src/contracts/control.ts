/** The pictures that guide the drawing of another one through ControlNets of its model: as posted, and with every default filled in. */
import { z } from 'zod';
import { MAX_MEDIA_REFERENCE, MediaSourceSchema } from './media-source.ts';

/** What makes a control picture without a model: it is one already, or its edges are found. */
export const PLAIN_PREPROCESSES = ['none', 'canny'] as const;

export const isPlainPreprocess = (preprocess: string): boolean =>
  PLAIN_PREPROCESSES.some((each) => each === preprocess);

/** Of one picture. */
export const MAX_CONTROLS = 4;
const MAX_NAME = 200;

const scale = z.number().min(0).max(2);
const share = z.number().min(0).max(1);
const name = z.string().min(1).max(MAX_NAME);

export const ControlRequestSchema = z.strictObject({
  name: name.meta({
    description: 'A ControlNet that the model lists under `controls`.',
    example: 'edges',
  }),
  image: z
    .string()
    .min(1)
    .max(MAX_MEDIA_REFERENCE)
    .meta({
      description:
        'The picture that guides the drawing, given as `image` is, also as `{{node.image}}` in a workflow, and stretched to the width and height of ' +
        'the job.',
      example: 'https://app.example/sketch.png',
    }),
  scale: scale.optional().meta({ description: 'How strongly it guides: 0 not at all. Default: 1.' }),
  start: share.optional().meta({
    description: 'The share of the steps after which it begins to guide. Default: 0.',
  }),
  end: share.optional().meta({
    description: 'The share of the steps after which it guides no more; above `start`. Default: 1.',
    example: 0.8,
  }),
  preprocess: name.optional().meta({
    description:
      'What makes the control picture of `image`. `none`: it is one. `canny`: its edges, white on black. Or a model, one of those that the ' +
      "entry of the model names. Default: that of the ControlNet's entry.",
    example: 'canny',
  }),
});
export type ControlRequest = z.output<typeof ControlRequestSchema>;

const ControlSchema = z.strictObject({
  name: z.string(),
  image: MediaSourceSchema,
  scale,
  start: share,
  end: share,
  /** `canny` or `name@version`; absent of a picture that is a control picture. */
  preprocess: z.string().optional(),
});
export type Control = z.output<typeof ControlSchema>;
/** As records keep them and workers run them. */
export const ControlsSchema = z.array(ControlSchema).min(1).max(MAX_CONTROLS);
