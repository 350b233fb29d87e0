/**
 * Reads a model's `scheduler/scheduler_config.json`, as diffusers writes it. Unknown fields belong to other classes and are
 * ignored. A known field with a value that Lehr does not support is refused by name, because sampling on another noise
 * schedule than the model's would give a wrong picture without an error.
 */
import { LehrError } from '@lehr/shared';
import { z } from 'zod';

/** The classes with a variance-preserving schedule of betas, unlike EDM and flow matching. The job chooses the sampler, not the class. */
const CLASSES = [
  'DDIMScheduler',
  'DDPMScheduler',
  'DEISMultistepScheduler',
  'DPMSolverMultistepScheduler',
  'DPMSolverSDEScheduler',
  'DPMSolverSinglestepScheduler',
  'EulerAncestralDiscreteScheduler',
  'EulerDiscreteScheduler',
  'HeunDiscreteScheduler',
  'KDPM2AncestralDiscreteScheduler',
  'KDPM2DiscreteScheduler',
  'LCMScheduler',
  'LMSDiscreteScheduler',
  'PNDMScheduler',
  'TCDScheduler',
  'UniPCMultistepScheduler',
] as const;

const switchedOff = z.literal(false).nullish();

const schema = z
  .object({
    _class_name: z.enum(CLASSES).nullish(),
    num_train_timesteps: z.int().min(2).default(1000),
    beta_schedule: z.enum(['linear', 'scaled_linear', 'squaredcos_cap_v2']).default('linear'),
    beta_start: z.number().positive().lt(1).default(0.0001),
    beta_end: z.number().positive().lt(1).default(0.02),
    trained_betas: z.array(z.number().positive().lt(1)).nullish(),
    prediction_type: z.enum(['epsilon', 'v_prediction']).default('epsilon'),
    timestep_spacing: z.enum(['leading', 'linspace', 'trailing']).nullish(),
    steps_offset: z.int().min(0).max(1).default(0),
    set_alpha_to_one: z.boolean().nullish(),
    rescale_betas_zero_snr: z.boolean().default(false),
    use_karras_sigmas: z.boolean().nullish(),
    skip_prk_steps: z.boolean().nullish(),
    original_inference_steps: z.int().positive().default(50),
    timestep_scaling: z.number().positive().default(10),

    // Any other value of these means other sigmas or another update rule. clip_sample is not checked: the Stable
    // Diffusion pipelines of diffusers switch it off whatever the file says, and so does Lehr.
    final_sigmas_type: z.literal('zero').nullish(),
    interpolation_type: z.literal('linear').nullish(),
    lambda_min_clipped: z.null().optional(),
    shift_terminal: z.null().optional(),
    sigma_max: z.null().optional(),
    sigma_min: z.null().optional(),
    thresholding: switchedOff,
    timestep_type: z.literal('discrete').nullish(),
    use_beta_sigmas: switchedOff,
    use_dynamic_shifting: switchedOff,
    use_exponential_sigmas: switchedOff,
    use_flow_sigmas: switchedOff,
    use_lu_lambdas: switchedOff,
  })
  .refine((raw) => !raw.trained_betas || raw.trained_betas.length === raw.num_train_timesteps, {
    path: ['trained_betas'],
    error: 'must hold num_train_timesteps values',
  })
  .transform((raw) => ({
    trainTimesteps: raw.num_train_timesteps,
    betaSchedule: raw.beta_schedule,
    betaStart: raw.beta_start,
    betaEnd: raw.beta_end,
    /** All betas, in place of a named schedule. */
    trainedBetas: raw.trained_betas ?? undefined,
    /** What the UNet predicts: the noise, or the velocity of arXiv 2202.00512. */
    predictionType: raw.prediction_type,
    /** Absent in older files; each sampler then has its own default. */
    timestepSpacing: raw.timestep_spacing ?? undefined,
    /** Added to the timesteps, in leading spacing only. */
    stepsOffset: raw.steps_offset,
    /** Whether the last step ends at a clean latent (alpha 1) or at timestep 0; the default depends on the sampler. */
    setAlphaToOne: raw.set_alpha_to_one ?? undefined,
    /** Rescale the schedule so that its last timestep is pure noise (arXiv 2305.08891). */
    rescaleBetasZeroSnr: raw.rescale_betas_zero_snr,
    /** Used by euler and unipc only: for the dpmpp samplers the sampler's name decides. */
    useKarrasSigmas: raw.use_karras_sigmas ?? false,
    skipPrkSteps: raw.skip_prk_steps ?? undefined,
    /** LCM: length of the timestep grid that the model was distilled on. */
    originalInferenceSteps: raw.original_inference_steps,
    /** LCM: factor on the timestep in the boundary condition. */
    timestepScaling: raw.timestep_scaling,
  }));

export type SchedulerConfig = z.output<typeof schema>;
export type PredictionType = SchedulerConfig['predictionType'];
export type Spacing = NonNullable<SchedulerConfig['timestepSpacing']>;

/**
 * `text` is what a `scheduler_config.json` holds. Throws LehrError `model-unavailable` that names every wrong field, its
 * value and the allowed values.
 */
export function parseSchedulerConfig(text: string): SchedulerConfig {
  const raw = readJson(text);
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => ({
    pointer: `/${issue.path.join('/')}`,
    detail: `${issue.message}; it is ${JSON.stringify(valueAt(raw, issue.path))}`,
  }));
  const list = problems.map(({ pointer, detail }) => `${pointer}: ${detail}`).join('; ');
  throw new LehrError('model-unavailable', `scheduler_config.json cannot be used: ${list}.`, { problems });
}

function readJson(text: string): unknown {
  try {
    // Python writes the default of lambda_min_clipped as -Infinity, which is not JSON; null has the same meaning here.
    return JSON.parse(text.replace(/(:\s*)-?(?:Infinity|NaN)\b/g, '$1null'));
  } catch (cause) {
    throw new LehrError('model-unavailable', 'scheduler_config.json is not JSON.', { cause });
  }
}

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => Object(value)[key], raw);
}
