/**
 * The models an installation offers, read from models.yaml. The API needs only this file, not the weights; the worker
 * also reads `path` or `source`. A model name from a request is looked up here and never becomes part of a path.
 */
import { parse } from 'yaml';
import { LehrError } from '../base/errors.ts';
import { type DetectedFamily, type DiffusionFamily, FAMILY_TRAITS } from '../contracts/diffusion-family.ts';
import type { ModelRef } from '../contracts/group.ts';
import type { TextJobType } from '../contracts/text.ts';
import { type GuidanceKind, SAMPLER_NAMES, type SamplerName } from '../contracts/text-to-image.ts';
import {
  type DiffusionModelText,
  ModelsFileSchema,
  type ModelText,
  type ModelVersion,
  type TextModelEntry,
  type TransformModelText,
  type WhisperModelEntry,
} from './models-schema.ts';

export type { ModelVersion, TextModelEntry, WhisperModelEntry };

export interface DiffusionModelEntry extends Omit<DiffusionModelText, 'defaults' | 'limits'> {
  readonly family: DiffusionFamily;
  readonly guidance: GuidanceKind;
  /** Whether a picture of some version can begin at another one; undefined where the folders cannot be read here. */
  readonly takesPictures: boolean | undefined;
  /** The same for a schedule with trailing spacing. */
  readonly isTrailing: boolean | undefined;
  readonly defaults: Required<DiffusionModelText['defaults']>;
  readonly limits: Required<DiffusionModelText['limits']>;
  readonly samplers: SamplerName[];
}
export interface TransformModelEntry extends Omit<TransformModelText, 'limits'> {
  readonly limits: Required<TransformModelText['limits']>;
}
export type ModelEntry = DiffusionModelEntry | WhisperModelEntry | TextModelEntry | TransformModelEntry;
type ModelOf<Task extends ModelEntry['task']> = Extract<ModelEntry, { task: Task }>;

export class Registry {
  #models: readonly ModelEntry[];
  #changedAtS: number;

  /** `changedAtS`: when models.yaml last changed, in Unix seconds. */
  constructor(models: readonly ModelEntry[], changedAtS = 0) {
    this.#models = models;
    this.#changedAtS = changedAtS;
  }

  get models(): readonly ModelEntry[] {
    return this.#models;
  }

  get changedAtS(): number {
    return this.#changedAtS;
  }

  /** Takes the models of a newer models.yaml. All parts that hold this registry see them from now on. */
  replaceBy({ models, changedAtS }: Registry): void {
    this.#models = models;
    this.#changedAtS = changedAtS;
  }

  /**
   * The model and version that `wanted` names (`name`, `name@version`, or undefined for the default of the task; the name may be
   * an alias). Without a version, `fraction` (0 up to 1) picks one by weight; as a function it is called only when there are several
   * versions. `type` narrows text models to those that run such jobs. Throws `model-not-found`.
   */
  resolve<Task extends ModelEntry['task']>(
    task: Task,
    wanted: string | undefined,
    fraction: number | (() => number),
    type?: TextJobType,
  ): { model: ModelOf<Task>; ref: ModelRef } {
    const offered = this.models.filter(
      (model): model is ModelOf<Task> => model.task === task && (type === undefined || runs(model, type)),
    );
    const [name, version, ...rest] = wanted?.split('@') ?? [];
    const model =
      name === undefined
        ? (offered.find((each) => each.default) ?? offered[0])
        : offered.find((each) => each === this.named(name));
    if (!model || rest.length > 0) throw notFound(wanted ?? `default ${type ?? task} model`, offered);
    const chosen =
      version === undefined
        ? pickByWeight(model.versions, fraction)
        : model.versions.find((each) => each.version === version);
    if (!chosen) throw notFound(wanted ?? model.name, offered);
    return { model, ref: { name: model.name, version: chosen.version } };
  }

  /** The model with this name or alias; `@` and what follows it are ignored. */
  named(wanted: string): ModelEntry | undefined {
    const [name] = wanted.split('@');
    return this.models.find((each) => each.name === name || each.aliases.includes(name));
  }

  find(ref: ModelRef): { model: ModelEntry; version: ModelVersion } | undefined {
    const model = this.models.find((each) => each.name === ref.name);
    const version = model?.versions.find((each) => each.version === ref.version);
    return model && version && { model, version };
  }
}

/** What the folder of a version says of its family; undefined when it is not there. */
export type ReadFamily = (path: string) => DetectedFamily | undefined;

/**
 * Parses the text of models.yaml. What it does not say of a diffusion model comes from the family of its first version. Throws
 * `invalid-request` with every fault and its place.
 */
export function parseRegistry(
  text: string,
  readFamily: ReadFamily = () => undefined,
  changedAtS?: number,
): Registry {
  let document: unknown;
  try {
    document = parse(text);
  } catch (error) {
    throw new LehrError('invalid-request', `models.yaml is not YAML: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const parsed = ModelsFileSchema.safeParse(document);
  if (parsed.success) {
    const { models } = parsed.data;
    return new Registry(
      models.map((model) => completed(model, readFamily)),
      changedAtS,
    );
  }
  const faults = parsed.error.issues.map(
    (issue) => `  - ${issue.path.join('.') || 'the file'}: ${issue.message}`,
  );
  throw new LehrError('invalid-request', `models.yaml is not usable:\n${faults.join('\n')}`, {
    cause: parsed.error,
  });
}

function completed(model: ModelText, readFamily: ReadFamily): ModelEntry {
  if (model.task === 'diffusion') return complete(model, readFamily);
  return model.task === 'transform' ? completeTransform(model) : model;
}

/** Pixels of the picture that is sent: a picture is made of many tiles; a mask or a class is one row of any picture. */
const MAX_TRANSFORMED_PIXELS = { picture: 4, mask: 16, class: 16 };

const completeTransform = (model: TransformModelText): TransformModelEntry => ({
  ...model,
  limits: { max_pixels: MAX_TRANSFORMED_PIXELS[model.result] * 1024 * 1024, ...model.limits },
});

/** Of a value of a latent: no graph draws less. */
const LATENT_PIXELS = 8;

function complete(model: DiffusionModelText, readFamily: ReadFamily): DiffusionModelEntry {
  const { path } = model.versions[0];
  const detected = path === undefined ? undefined : readFamily(path);
  const family = model.family ?? detected?.family ?? 'sd';
  const traits = FAMILY_TRAITS[family];
  const isAsDetected = detected?.family === family;
  const guidance = isAsDetected ? detected.guidance : traits.guidance;
  const side = isAsDetected && detected.side ? { width: detected.side, height: detected.side } : {};
  const samplers = model.samplers ?? traits.samplers ?? SAMPLER_NAMES;
  const sampler = samplers.includes(traits.defaults.sampler) ? traits.defaults.sampler : samplers[0];
  // An LCM that takes no guidance scale, such as a merged LoRA, was distilled with it.
  const isUnguided = traits.guidance === 'embedded' && guidance === 'rows';
  const limits = {
    min_size: 64,
    max_size: traits.maxSide,
    size_step: detected?.sizeStep ?? LATENT_PIXELS,
    max_pixels: 1024 * 1024,
    max_steps: traits.maxSteps,
    max_samples: 8,
    ...model.limits,
  };
  return {
    ...model,
    family,
    guidance,
    takesPictures: ofVersions(model, readFamily, 'takesPictures'),
    isTrailing: ofVersions(model, readFamily, 'isTrailing'),
    samplers: [...samplers],
    defaults: { ...traits.defaults, ...side, sampler, ...(isUnguided && { guidance: 1 }), ...model.defaults },
    // Two of the largest pictures with the most steps, or eight of a quarter of their size.
    limits: { max_work: 2 * limits.max_pixels * limits.max_steps, ...limits },
  };
}

/** Whether it is so of some version. Undefined when folders are not here that may decide it: the worker decides then. */
function ofVersions(
  { versions }: DiffusionModelText,
  readFamily: ReadFamily,
  fact: 'takesPictures' | 'isTrailing',
): boolean | undefined {
  const each = versions.map(({ path }) => (path === undefined ? undefined : readFamily(path)?.[fact]));
  if (each.includes(true)) return true;
  return each.includes(undefined) ? undefined : false;
}

const runs = (model: ModelEntry, type: TextJobType): boolean =>
  model.task === 'text' && model.tasks.includes(type);

function pickByWeight(versions: readonly ModelVersion[], fraction: number | (() => number)): ModelVersion {
  if (versions.length === 1) return versions[0];
  const total = versions.reduce((sum, each) => sum + each.weight, 0);
  let left = (typeof fraction === 'number' ? fraction : fraction()) * total;
  for (const each of versions) {
    left -= each.weight;
    if (left < 0) return each;
  }
  return versions[versions.length - 1];
}

function notFound(wanted: string, offered: readonly ModelEntry[]): LehrError {
  const names = offered.map((model) => model.name).join(', ') || 'none';
  return new LehrError(
    'model-not-found',
    `There is no model ${JSON.stringify(wanted.slice(0, 80))}. Offered: ${names}.`,
    {
      problems: [{ pointer: '/model', detail: `must be one of: ${names}` }],
    },
  );
}
