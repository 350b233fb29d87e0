/**
 * A group is the set of jobs that can share a batch: they wait in one group queue and may run in one lane.
 *
 * Jobs of a group agree on task and model@version (one set of weights), and for diffusion on the picture size (one latent
 * shape). They may differ in steps, sampler, guidance scale, seed and prompt, because every row of the UNet batch has its
 * own timestep. Only for a model whose graph could not be rewired for that (`aligned`) must they also agree on steps,
 * sampler and guidance scale.
 */

export interface ModelRef {
  readonly name: string;
  readonly version: string;
}

export interface Alignment {
  readonly steps: number;
  readonly sampler: string;
  readonly guidance: number;
}

export interface DiffusionGroup {
  readonly task: 'diffusion';
  readonly model: ModelRef;
  /** Picture size in pixels. */
  readonly width: number;
  readonly height: number;
  readonly aligned?: Alignment;
}

export interface WhisperGroup {
  readonly task: 'whisper';
  readonly model: ModelRef;
}

/** All jobs of a text model: its engine batches texts of any length. */
export interface TextGroup {
  readonly task: 'text';
  readonly model: ModelRef;
}

/** All jobs of a model that transforms pictures: its engine batches tiles, which have one size. */
export interface TransformGroup {
  readonly task: 'transform';
  readonly model: ModelRef;
}

export type Group = DiffusionGroup | WhisperGroup | TextGroup | TransformGroup;

export const TASKS = [
  'diffusion',
  'whisper',
  'text',
  'transform',
] as const satisfies readonly Group['task'][];
export type Task = (typeof TASKS)[number];

/** Names of models and versions, in the registry and so in queue names. */
export const SLUG = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const DIFFUSION =
  /^diffusion\.(?<name>[^@]+)@(?<version>[^@]+)\.(?<width>\d+)x(?<height>\d+)(?:~(?<steps>\d+)~(?<sampler>[a-z0-9_]+)~(?<guidance>\d+(?:\.\d+)?))?$/;
const WHOLE_MODEL = /^(?<task>whisper|text|transform)\.(?<name>[^@]+)@(?<version>[^@]+)$/;

export const formatModelRef = (model: ModelRef): string => `${model.name}@${model.version}`;

/** `diffusion.sd-turbo@1.512x512`, `whisper.tiny@1`, `text.minilm@1`, `transform.esrgan@1`; an aligned group adds `~steps~sampler~guidance`. */
export function groupQueueName(group: Group): string {
  const model = formatModelRef(group.model);
  if (group.task !== 'diffusion') return `${group.task}.${model}`;
  const { steps, sampler, guidance } = group.aligned ?? {};
  const suffix = group.aligned ? `~${steps}~${sampler}~${guidance}` : '';
  return `diffusion.${model}.${group.width}x${group.height}${suffix}`;
}

/** The group of a queue; undefined for a queue that is no group queue (such as `webhooks`). */
export function parseGroupQueueName(queue: string): Group | undefined {
  const diffusion = DIFFUSION.exec(queue)?.groups;
  if (diffusion) {
    const { name, version, width, height, steps, sampler, guidance } = diffusion;
    const shape = {
      task: 'diffusion',
      model: { name, version },
      width: Number(width),
      height: Number(height),
    } as const;
    return sampler
      ? { ...shape, aligned: { steps: Number(steps), sampler, guidance: Number(guidance) } }
      : shape;
  }
  const whole = WHOLE_MODEL.exec(queue)?.groups;
  const task = TASKS.find((each) => each === whole?.task);
  if (!whole || task === undefined || task === 'diffusion') return undefined;
  return { task, model: { name: whole.name, version: whole.version } };
}
