/** What models.yaml may say: the schema of its entries. */
import { z } from 'zod';
import { isPlainPreprocess } from '../contracts/control.ts';
import { DIFFUSION_FAMILIES } from '../contracts/diffusion-family.ts';
import { SLUG } from '../contracts/group.ts';
import { MAX_SCALE, TRANSFORM_RESULTS, type TransformResult } from '../contracts/picture-transform.ts';
import { SAFETY_MODES } from '../contracts/safety.ts';
import { MAX_TEXTS, TEXT_JOB_TYPES } from '../contracts/text.ts';
import { ClipSkipSchema, PromptSyntaxSchema, SamplerNameSchema } from '../contracts/text-to-image.ts';
import { parseSource, VARIANT } from './cache/source.ts';
import { AdapterEntriesSchema, ControlEntriesSchema, placed } from './model-parts-schema.ts';

/** The execution providers that LEHR_DEVICE can name. */
export const TUNED_DEVICES = ['cuda', 'tensorrt', 'webgpu', 'cpu'] as const;

/** How far ONNX Runtime rewrites a graph when it loads it; `all` is its default. */
export const OPTIMIZATIONS = ['disabled', 'basic', 'extended', 'all'] as const;
export type Optimization = (typeof OPTIMIZATIONS)[number];

const TunedSettingsSchema = z.strictObject({
  /** Another device than the first, because it was better. */
  device: z.enum(TUNED_DEVICES).optional(),
  /** Threads of a run on the CPU; never more than the machine has cores. */
  threads: z.int().positive().max(1024).optional(),
  /** The most rows of one step. */
  row_cap: z.int().positive().max(256).optional(),
  optimization: z.enum(OPTIMIZATIONS).optional(),
  /** Of speech and text models, in place of the model's: the suffix of the graph files, such as `_quantized`. */
  variant: z
    .string()
    .regex(/^(?:_[a-z0-9_]{1,32})?$/, 'must be the ending of a file name, such as _quantized')
    .optional(),
});

const TunedSchema = z.partialRecord(z.enum(TUNED_DEVICES), TunedSettingsSchema);

export type TunedSettings = z.output<typeof TunedSettingsSchema>;
export type Tuned = z.output<typeof TunedSchema>;

const slug = z.string().regex(SLUG, 'must match [a-z0-9][a-z0-9._-]{0,63}');

const VersionSchema = z
  .strictObject({
    version: z.coerce.string().pipe(slug),
    /** Folder of the version, absolute or relative to that of models.yaml. */
    path: z.string().min(1).optional(),
    /** In place of a path: from where workers fetch the folder. */
    source: z.string().min(1).optional(),
    /** Of a source on a hub: a commit, a tag or a branch. */
    revision: z.coerce.string().min(1).optional(),
    /** Of a source with several exports: which one. */
    variant: z.string().regex(VARIANT, 'must be letters, digits and _').optional(),
    /** Share of the jobs that name no version. */
    weight: z.number().nonnegative().default(1),
    /** How workers run it, by their first device. */
    tuned: TunedSchema.optional(),
  })
  .superRefine(placed((source, revision) => parseSource({ source, revision })))
  .superRefine(({ source, variant }, context) => {
    if (source !== undefined || variant === undefined) return;
    context.addIssue({ code: 'custom', path: ['variant'], message: 'needs a source' });
  });

const shape = {
  name: slug,
  /** Other names that requests may use: those that are fixed in programs for other services. */
  aliases: z.array(slug).default([]),
  versions: z.array(VersionSchema).min(1),
  /** A sentence for people: what the model is for, or what it draws. */
  description: z.string().min(1).max(500).optional(),
  /** The model of its task that a request without `model` gets. */
  default: z.boolean().default(false),
};

/** Which of several exports in the folder: the suffix of its graph files, such as `_quantized`. */
const graphVariant = z
  .string()
  .regex(/^_[a-z0-9_]{1,32}$/, 'must be the ending of a file name, such as _quantized')
  .optional();

/** Another model of the file, as `name` or `name@version`. Every worker of the model that names it has it open, too. */
const companion = z.string().min(1).max(200);

const SafetySchema = z.strictObject({
  /** Classifies the pictures. */
  model: companion,
  mode: z.enum(SAFETY_MODES).default('off'),
  /** A picture is unsafe when one of these labels has at least the score `threshold`. */
  labels: z.array(z.string().min(1).max(200)).min(1).default(['nsfw']),
  threshold: z.number().positive().max(1).default(0.5),
  /** Which modes the `safety` of an API key may be, beside the same or a stricter one. */
  keys: z.enum(['stricter', 'any']).default('stricter'),
});

const DiffusionModelSchema = z.strictObject({
  ...shape,
  task: z.literal('diffusion'),
  /** Read from the folder when absent. */
  family: z.enum(DIFFUSION_FAMILIES).optional(),
  /** Those of the family when absent. */
  defaults: z
    .strictObject({
      width: z.int().positive(),
      height: z.int().positive(),
      steps: z.int().positive(),
      guidance: z.number().nonnegative(),
      sampler: SamplerNameSchema,
      prompt_syntax: PromptSyntaxSchema,
      clip_skip: ClipSkipSchema,
    })
    .partial()
    .prefault({}),
  limits: z
    .strictObject({
      min_size: z.int().positive(),
      max_size: z.int().positive(),
      /** Width and height must be multiples of this. */
      size_step: z.int().positive(),
      max_pixels: z.int().positive(),
      max_steps: z.int().positive(),
      max_samples: z.int().positive(),
      /** Of one job: width x height x pictures x steps. */
      max_work: z.number().positive(),
    })
    .partial()
    .prefault({}),
  samplers: z.array(SamplerNameSchema).min(1).optional(),
  safety: SafetySchema.optional(),
  /** Models that `hires.upscaler` may name. */
  upscalers: z.array(companion).default([]),
  /** LoRA files that requests may use. */
  adapters: AdapterEntriesSchema,
  /** ControlNets that requests may use. */
  controls: ControlEntriesSchema,
});

const WhisperModelSchema = z.strictObject({
  ...shape,
  task: z.literal('whisper'),
  variant: graphVariant,
  limits: z
    .strictObject({
      /** Of one file, decoded. */
      max_audio_s: z.number().positive(),
    })
    .prefault({ max_audio_s: 2 * 3600 }),
});

const TextModelSchema = z.strictObject({
  ...shape,
  task: z.literal('text'),
  /** The types of jobs that its graphs run. */
  tasks: z
    .array(z.enum(TEXT_JOB_TYPES))
    .min(1)
    .refine((tasks) => new Set(tasks).size === tasks.length, 'must name each task once'),
  variant: graphVariant,
  limits: z
    .strictObject({
      /** Of one job. */
      max_texts: z.int().positive().max(MAX_TEXTS),
    })
    .prefault({ max_texts: MAX_TEXTS }),
});

const channelFactors = z.array(z.number()).refine(({ length }) => length === 1 || length === 3, {
  message: 'must be one number, or three',
});

/** How pixels become the graph's input. A field that is absent is as in preprocessor_config.json. */
const GraphInputSchema = z
  .strictObject({
    /** Pixels of the graph's input, when it takes one size. */
    width: z.int().positive().max(8192),
    height: z.int().positive().max(8192),
    /** Width and height must be multiples of this. */
    multiple: z.int().positive().max(1024),
    /** A value of 0 to 255 is multiplied by this first; then `mean` is subtracted, and the rest divided by `std`. */
    rescale: z.number().positive(),
    mean: channelFactors,
    std: channelFactors.refine((each) => each.every((value) => value > 0), 'must be above 0'),
    channels: z.enum(['rgb', 'bgr', 'grey']),
  })
  .partial();

const TransformModelSchema = z
  .strictObject({
    ...shape,
    task: z.literal('transform'),
    /** What its graph gives. */
    result: z.enum(TRANSFORM_RESULTS),
    /** Of result picture: how many times as wide and high as its input. */
    scale: z.number().min(1).max(MAX_SCALE).default(1),
    /** Absent: preprocessor_config.json of the folder says it, else values of 0 to 1 in RGB and any size. */
    input: GraphInputSchema.optional(),
    /** Of result class: in the order of the graph's scores. Absent: those of config.json. */
    labels: z.array(z.string().min(1).max(200)).min(1).optional(),
    variant: graphVariant,
    limits: z
      .strictObject({
        /** Of the picture that is sent. */
        max_pixels: z.int().positive(),
      })
      .partial()
      .prefault({}),
  })
  .superRefine(({ result, scale, labels }, context) => {
    const fault = (field: string, detail: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: `${detail}; this model gives: ${result}` });
    if (scale !== 1 && result !== 'picture') fault('scale', 'is for models that give a picture');
    if (labels !== undefined && result !== 'class') fault('labels', 'are for models that give a class');
  });

interface CompanionText {
  readonly wanted: string;
  /** One of them is what it must give. */
  readonly results: readonly TransformResult[];
  /** Where it is written in the entry. */
  readonly path: readonly (string | number)[];
}

/** The other models that the workers of a model need. */
export const companionsIn = ({
  safety,
  upscalers,
  controls,
}: Pick<DiffusionModelText, 'safety' | 'upscalers' | 'controls'>): readonly CompanionText[] => [
  ...(safety ? [{ wanted: safety.model, results: ['class'] as const, path: ['safety', 'model'] }] : []),
  ...upscalers.map((wanted, i) => ({ wanted, results: ['picture'] as const, path: ['upscalers', i] })),
  ...controls.flatMap(({ preprocess: wanted }, i) =>
    isPlainPreprocess(wanted)
      ? []
      : [{ wanted, results: ['picture', 'mask'] as const, path: ['controls', i, 'preprocess'] }],
  ),
];

/** The content of models.yaml. */
export const ModelsFileSchema = z
  .strictObject({
    models: z
      .array(
        z.discriminatedUnion('task', [
          DiffusionModelSchema,
          WhisperModelSchema,
          TextModelSchema,
          TransformModelSchema,
        ]),
      )
      .min(1),
  })
  .superRefine(({ models }, context) => {
    const taken = new Map<string, string>();
    const take = (name: string, as: string, ...path: (string | number)[]): void => {
      const before = taken.get(name);
      if (before === undefined) taken.set(name, as);
      else context.addIssue({ code: 'custom', path, message: `"${name}" is also the ${before}` });
    };
    for (const [i, { name }] of models.entries()) take(name, `name of models.${i}`, 'models', i, 'name');
    for (const [i, { name, aliases }] of models.entries()) {
      for (const [j, alias] of aliases.entries()) take(alias, `alias of ${name}`, 'models', i, 'aliases', j);
    }
    for (const [i, model] of models.entries()) {
      if (model.task !== 'diffusion') continue;
      for (const { wanted, results, path } of companionsIn(model)) {
        const [name, version] = wanted.split('@');
        const found = models.find((each) => each.name === name);
        const hasVersion = version === undefined || found?.versions.some((each) => each.version === version);
        if (found?.task === 'transform' && results.includes(found.result) && hasVersion) continue;
        const message = `"${wanted}" is no model here of the task transform with the result ${results.join(' or ')}`;
        context.addIssue({ code: 'custom', path: ['models', i, ...path], message });
      }
    }
  });

/** A diffusion model as it is written; its family says what is absent. */
export type DiffusionModelText = z.output<typeof DiffusionModelSchema>;
export type WhisperModelEntry = z.output<typeof WhisperModelSchema>;
export type TextModelEntry = z.output<typeof TextModelSchema>;
export type ModelText = z.output<typeof ModelsFileSchema>['models'][number];
/** A model that transforms pictures as it is written; what it gives says what is absent. */
export type TransformModelText = z.output<typeof TransformModelSchema>;
export type ModelVersion = z.output<typeof VersionSchema>;
