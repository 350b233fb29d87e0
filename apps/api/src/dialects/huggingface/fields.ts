/** The bodies of calls: `inputs`, and parameters beside them or in `parameters`. */
import { z } from '@hono/zod-openapi';
import {
  AGGREGATIONS,
  FUNCTIONS,
  IMAGE_FORMATS,
  MASK_OUTPUTS,
  MAX_TEXTS,
  SamplerNameSchema,
  type TextJobType,
  TextToImageRequestSchema,
} from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';
import { bodyRefusal } from '../../http/middleware/validation.ts';

const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);
const flag = optional(z.boolean());
const count = optional(z.int());
const text = z.string();

const pair = z.object({ text, text_pair: optional(text) });

/** Each task has its own parameters; unknown ones are ignored, as by the API that this one stands in for. */
const PARAMETERS = {
  'text-embedding': z.object({
    normalize: flag,
    truncate: flag,
    dimensions: count,
    encoding_format: optional(z.enum(['float', 'base64'])),
  }),
  'text-classification': z.object({
    top_k: count,
    function_to_apply: optional(z.enum(FUNCTIONS)),
    truncation: flag,
    truncate: flag,
  }),
  'fill-mask': z.object({ top_k: count, truncation: flag, truncate: flag }),
  'token-classification': z.object({
    aggregation_strategy: optional(z.enum(AGGREGATIONS)),
    ignore_labels: optional(z.array(text)),
    truncation: flag,
    truncate: flag,
  }),
} as const;

/** Parameters of the clients that Lehr does not have: ignoring them would give another result than the caller asks for. */
const UNSUPPORTED: Readonly<Record<TextJobType, readonly string[]>> = {
  'text-embedding': ['prompt_name'],
  'text-classification': [],
  'fill-mask': ['targets'],
  'token-classification': ['stride'],
};

export interface Body {
  readonly inputs: unknown;
  /** Those beside `inputs` and those in `parameters`. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** False only if the caller says so. */
  readonly waitsForModel: boolean;
}

const BodySchema = z.looseObject({
  inputs: z.unknown(),
  parameters: optional(z.record(z.string(), z.unknown())),
  options: optional(z.looseObject({ wait_for_model: flag })),
});

/** Throws `invalid-input`. A JSON string stands for its text. */
export function bodyOf(json: unknown): Body {
  if (typeof json === 'string') return { inputs: json, parameters: {}, waitsForModel: true };
  const { inputs, parameters, options, ...beside } = checked(BodySchema, json);
  return {
    inputs,
    parameters: { ...beside, ...parameters },
    waitsForModel: options?.wait_for_model !== false,
  };
}

/** Throws `invalid-input` that names those of the parameters that the caller has set. */
export function refuseParameters({ parameters }: Body, names: readonly string[]): void {
  const refused = names.filter((name) => parameters[name] !== undefined && parameters[name] !== null);
  const isLeft = parameters.truncation_direction === 'left' ? ['truncation_direction'] : [];
  const problems = [...refused, ...isLeft].map((name) => ({
    pointer: `/parameters/${name}`,
    detail: name === 'truncation_direction' ? 'must be right' : 'is not supported',
  }));
  if (problems.length > 0) throw refusal('invalid-input', problems);
}

/** Throws `invalid-input`. */
export function parametersOf<Type extends TextJobType>(
  type: Type,
  body: Body,
): z.output<(typeof PARAMETERS)[Type]> {
  refuseParameters(body, UNSUPPORTED[type]);
  return checked(PARAMETERS[type], body.parameters, 'parameters') as z.output<(typeof PARAMETERS)[Type]>;
}

const TextsSchema = z.union([text, z.array(text).min(1).max(MAX_TEXTS)]);
const PairsSchema = z.union([
  text,
  pair,
  z
    .array(z.union([text, pair]))
    .min(1)
    .max(MAX_TEXTS),
]);

/** One text or several, as the caller sent them. Throws `invalid-input`. */
export const inputsOf = (type: TextJobType, { inputs }: Body): z.output<typeof PairsSchema> =>
  checked(type === 'text-classification' ? PairsSchema : TextsSchema, inputs, 'inputs');

const { width, height, steps, guidance, seed, negative_prompt, adapters, control } =
  TextToImageRequestSchema.shape;
export const PictureParametersSchema = z.object({
  negative_prompt: negative_prompt.nullish(),
  width: width.nullish(),
  height: height.nullish(),
  num_inference_steps: steps.nullish(),
  guidance_scale: guidance.nullish(),
  seed: seed.nullish(),
  scheduler: SamplerNameSchema.nullish(),
  adapters: adapters.nullish(),
  control: control.nullish(),
});

const generation = z.object({
  language: optional(text),
  task: optional(z.enum(['transcribe', 'translate'])),
  temperature: optional(z.number()),
});
export const SpeechParametersSchema = z.object({
  return_timestamps: optional(z.union([z.boolean(), z.literal('word')])),
  generation_parameters: optional(generation),
  generate_kwargs: optional(generation),
});

/** Those of Lehr; of the clients' own only `top_k` is one. */
export const TransformParametersSchema = z.object({
  top_k: count,
  scale: optional(z.number()),
  output: optional(z.enum(MASK_OUTPUTS)),
  output_format: optional(z.enum(IMAGE_FORMATS)),
});

/** Throws `invalid-input`, with the pointers below `at`. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at?: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const refused = bodyRefusal(parsed.error);
  if (at === undefined) throw refused;
  throw refusal(
    'invalid-input',
    refused.problems.map(({ pointer, detail }) => ({ pointer: `/${at}${pointer}`, detail })),
  );
}
