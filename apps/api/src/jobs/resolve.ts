/** Resolves a request: model and version, every field with its value, its group and its price. */
import { hash } from 'node:crypto';
import {
  type ControlRequest,
  DEFAULT_TOP_K,
  type DiffusionGroup,
  estimateTokens,
  formatModelRef,
  groupQueueName,
  inputFolder,
  type JobId,
  LANGUAGE_NAMES,
  MAX_INLINE_TEXT_BYTES,
  type MediaSource,
  type ModelEntry,
  type ModelRef,
  type NodePicture,
  pictureReference,
  type Registry,
  type SafetyMode,
  type SpeechToTextInput,
  type TextItem,
  type TextJobType,
  type TextModelEntry,
  type TextsSource,
  type TextToImageInput,
  textCostMs,
  toObjectKey,
  type WorkerStatus,
  type WorkflowNode,
} from '@lehr/shared';
import type { PricedJob } from '@lehr/shared/queue';
import { formatShare } from '@lehr/shared/records';
import { refusal } from '../base/field-problems.ts';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { assignVersion, type StoredRollout } from '../rollouts/rollout.ts';
import { completeControls } from './complete-control.ts';
import { takesPictureSize } from './complete-edit.ts';
import { resolveUpscaler } from './complete-hires.ts';
import { completeInput, safetyFields } from './complete-input.ts';
import { completeTransform } from './complete-transform.ts';
import {
  type Attachment,
  type LocatedMedia,
  locateMedia,
  type MediaContext,
  type MediaField,
  type MediaParts,
} from './media-input.ts';
import { priceOf, priceOfSpeech, priceOfTransform } from './price.ts';

/** Prices that are the same for every version of a model. */
const NO_FLEET: readonly WorkerStatus[] = [];

export interface ResolveParts extends MediaParts {
  readonly registry: Registry;
}

/** What a job is resolved against, besides its request. */
export interface ResolveContext extends MediaContext {
  /** Whether it is a node of a workflow, so that its picture may be that of another node. */
  readonly isNode?: boolean;
  readonly fleet: readonly WorkerStatus[];
  /** Of the caller. */
  readonly keyId: string;
  /** What the caller's key says of unsafe pictures. */
  readonly safety: SafetyMode | null;
  /** By model. */
  readonly rollouts: ReadonlyMap<string, StoredRollout>;
}

/** The fields of a PricedJob that its type, model and input decide. */
export type Resolution = Pick<
  PricedJob,
  | 'type'
  | 'model'
  | 'queue'
  | 'cost'
  | 'input'
  | 'workflow'
  | 'rollout'
  | 'retried_from'
  | 'webhook'
  | 'hook_events'
> & {
  /** To be stored before the job is. */
  readonly attachments: readonly Attachment[];
};

type WithoutId<Node> = Node extends unknown ? Omit<Node, 'id'> : never;
/** What one worker does: a request that is no workflow, or a node. */
type OneTask = WithoutId<WorkflowNode>;
type TextRequest = Extract<OneTask, { type: TextJobType }>;

/** Throws `model-not-found` and `invalid-input`. */
export async function resolveWork(
  parts: ResolveParts,
  context: ResolveContext,
  request: OneTask,
): Promise<Resolution> {
  switch (request.type) {
    case 'text-to-image':
      return resolvePicture(parts, context, request);
    case 'speech-to-text':
      return resolveSpeech(parts, context, request);
    case 'picture-transform':
      return resolveTransform(parts, context, request);
    default: {
      const chosen = resolveModel(parts.registry, context, 'text', request.model, request.type);
      return resolveText(context, request, chosen);
    }
  }
}

async function resolvePicture(
  parts: ResolveParts,
  context: ResolveContext,
  request: Extract<OneTask, { type: 'text-to-image' }>,
): Promise<Resolution> {
  const { fleet } = context;
  const { model, ref, share } = resolveModel(parts.registry, context, 'diffusion', request.model);
  const { image: wantedImage, mask: wantedMask, control = [], hires } = request.input;
  // Most jobs name no picture, and each await takes its time.
  const image =
    wantedImage === undefined ? undefined : await locatePicture(parts, context, 'image', wantedImage);
  const size = image && takesPictureSize(request.input) ? await image.size?.() : undefined;
  const upscaler = hires?.upscaler && resolveUpscaler(parts.registry, model, hires.upscaler);
  const wanted = upscaler ? { ...request.input, hires: { ...hires, upscaler } } : request.input;
  const input = completeInput(wanted, model, size);
  // No name of a node has a full stop.
  const ofMask = { ...context, name: `${context.name}.mask` };
  const mask = wantedMask === undefined ? undefined : await locatePicture(parts, ofMask, 'mask', wantedMask);
  const group = groupOf(input, ref, fleet);
  const controls = completeControls(parts.registry, model, control);
  const located = control.length === 0 ? [] : await locateControls(parts, context, control);
  const priced = { control: controls, ...input };
  return {
    type: 'text-to-image',
    model: formatModelRef(ref),
    queue: groupQueueName(group),
    cost: priceOf(priced, group, fleet, model),
    input: {
      ...input,
      ...(image && { image: image.source }),
      ...(mask && { mask: mask.source }),
      ...(controls.length > 0 && {
        control: controls.map((each, i) => ({ ...each, image: located[i].source })),
      }),
      ...safetyFields(model, context.safety),
    },
    attachments: [image, mask, ...located].flatMap((each) => each?.attached ?? []),
    rollout: share?.(priceOf(priced, group, NO_FLEET, model)),
  };
}

async function resolveTransform(
  parts: ResolveParts,
  context: ResolveContext,
  request: Extract<OneTask, { type: 'picture-transform' }>,
): Promise<Resolution> {
  const { model, ref, share } = resolveModel(parts.registry, context, 'transform', request.model);
  const image = await locatePicture(parts, context, 'image', request.input.image);
  const size = await image?.size?.();
  const fields = completeTransform(request.input, model, size);
  const queue = groupQueueName({ task: 'transform', model: ref });
  return {
    type: 'picture-transform',
    model: formatModelRef(ref),
    queue,
    cost: priceOfTransform(model, size, fleetIndex(context.fleet).speed(queue)),
    input: { ...fields, ...(image && { image: image.source }) },
    attachments: image?.attached ? [image.attached] : [],
    rollout: share?.(priceOfTransform(model, size, undefined)),
  };
}

type LocatedPicture = Omit<LocatedMedia, 'source'> & { readonly source: MediaSource | NodePicture };

/** One after the other, as the pictures of an edit. */
async function locateControls(
  parts: ResolveParts,
  context: ResolveContext,
  control: readonly ControlRequest[],
): Promise<LocatedPicture[]> {
  const located: LocatedPicture[] = [];
  for (const [i, { image }] of control.entries()) {
    const own = { ...context, name: `${context.name}.control.${i}` };
    located.push(await locatePicture(parts, own, `control/${i}/image`, image));
  }
  return located;
}

async function locatePicture(
  parts: ResolveParts,
  context: ResolveContext,
  field: Exclude<MediaField['field'], 'audio'>,
  value: string,
): Promise<LocatedPicture> {
  const node = context.isNode ? pictureReference(value) : undefined;
  if (node !== undefined) return { source: node };
  return locateMedia(parts, context, { field, value });
}

async function resolveSpeech(
  parts: ResolveParts,
  context: ResolveContext,
  request: Extract<OneTask, { type: 'speech-to-text' }>,
): Promise<Resolution> {
  const { fleet } = context;
  const { ref, share } = resolveModel(parts.registry, context, 'whisper', request.model);
  const { language, task, prompt, temperature, timestamps, mode } = request.input;
  if (language !== undefined && !(language in LANGUAGE_NAMES)) {
    const known = Object.keys(LANGUAGE_NAMES).join(', ');
    throw refusal('invalid-input', [{ pointer: '/input/language', detail: `must be one of: ${known}` }]);
  }
  const audio = await locateMedia(parts, context, { field: 'audio', value: request.input.audio });
  const input: SpeechToTextInput = {
    audio: audio.source,
    language: language ?? null,
    task: task ?? 'transcribe',
    prompt: prompt ?? '',
    temperature: temperature ?? 0,
    timestamps: timestamps ?? 'segment',
    mode: mode ?? 'sequential',
  };
  const queue = groupQueueName({ task: 'whisper', model: ref });
  return {
    type: 'speech-to-text',
    model: formatModelRef(ref),
    queue,
    cost: priceOfSpeech(audio.bytes, queue, fleet),
    input,
    rollout: share?.(priceOfSpeech(audio.bytes, queue, NO_FLEET)),
    attachments: audio.attached ? [audio.attached] : [],
  };
}

/** The group of a job: aligned if any live worker can batch the model only when jobs are aligned. */
export function groupOf(
  input: TextToImageInput,
  model: ModelRef,
  fleet: readonly WorkerStatus[],
): DiffusionGroup {
  const { width, height, steps, sampler, guidance } = input;
  const isAligned = fleetIndex(fleet).isAligned(formatModelRef(model));
  const group: DiffusionGroup = { task: 'diffusion', model, width, height };
  return isAligned ? { ...group, aligned: { steps, sampler, guidance } } : group;
}

/**
 * Resolves a text job: its model, every field with its value, where its texts are kept, and its price.
 * Throws `invalid-input` with pointers into the request.
 */
function resolveText(
  { tenant, job, name, fleet }: ResolveContext,
  request: TextRequest,
  { model, ref, share }: ResolvedModel<TextModelEntry>,
): Resolution {
  checkCount(request.input.texts, model);
  const queue = groupQueueName({ task: 'text', model: ref });
  const attached = attachmentOf(request.input.texts, `${inputFolder(tenant, job)}${name}`);
  const texts: TextsSource = attached
    ? { kind: 'object', key: attached.key, count: request.input.texts.length }
    : request.input.texts;
  const tokens = estimateTokens(request.input.texts);
  return {
    type: request.type,
    model: formatModelRef(ref),
    queue,
    cost: textCostMs(tokens, fleetIndex(fleet).speed(queue)),
    input: { texts, truncate: request.input.truncate ?? false, ...optionsOf(request) },
    rollout: share?.(textCostMs(tokens, undefined)),
    attachments: attached ? [attached] : [],
  };
}

function checkCount(texts: readonly TextItem[], { name, limits: { max_texts } }: TextModelEntry): void {
  if (texts.length <= max_texts) return;
  const detail = `has ${texts.length} texts, and ${name} takes at most ${max_texts} in one job`;
  throw refusal('invalid-input', [{ pointer: '/input/texts', detail }]);
}

/** Many texts are stored as an object, because Redis holds the records in memory. */
function attachmentOf(texts: readonly TextItem[], key: string): Attachment | undefined {
  const bytes = Buffer.from(JSON.stringify(texts));
  if (bytes.byteLength <= MAX_INLINE_TEXT_BYTES) return undefined;
  return { key: toObjectKey(`${key}.json`), bytes, contentType: 'application/json' };
}

/** What is null follows the files of the model, which the worker has. */
function optionsOf(request: TextRequest): Record<string, unknown> {
  switch (request.type) {
    case 'text-embedding': {
      const { normalize, dimensions } = request.input;
      return { normalize: normalize ?? null, dimensions: dimensions ?? null };
    }
    case 'text-classification': {
      const { top_k, function: scores } = request.input;
      return { top_k: top_k ?? null, function: scores ?? null };
    }
    case 'fill-mask':
      return { top_k: request.input.top_k ?? DEFAULT_TOP_K };
    case 'token-classification': {
      const { aggregation, ignore_labels } = request.input;
      return { aggregation: aggregation ?? 'simple', ignore_labels: ignore_labels ?? ['O'] };
    }
  }
}

interface ResolvedModel<Model extends ModelEntry = ModelEntry> {
  readonly model: Model;
  readonly ref: ModelRef;
  /** Present when a rollout that is under way chose the version: makes the record's field of the expected engine ms. */
  readonly share?: ((expectedMs: number) => string) | undefined;
}

/**
 * The model and version of a job: as named, else as the rollout of the model says, else by the weights in models.yaml.
 * `wanted` is `name`, `name@version` or undefined for the default model of the task. Throws `model-not-found`.
 */
function resolveModel<Task extends ModelEntry['task']>(
  registry: Registry,
  context: ResolveContext,
  task: Task,
  wanted: string | undefined,
  type?: TextJobType,
): ResolvedModel<Extract<ModelEntry, { task: Task }>> {
  const { model, ref } = registry.resolve(task, wanted, () => fractionOf(context.job), type);
  const rollout = context.rollouts.get(model.name);
  if (!rollout || wanted?.includes('@')) return { model, ref };
  const isServed = (version: string): boolean =>
    fleetIndex(context.fleet).available(formatModelRef({ name: model.name, version })) > 0;
  const assigned = assignVersion(rollout, model.versions, context, isServed);
  if (!assigned) return { model, ref };
  const { version, side } = assigned;
  return {
    model,
    ref: { name: model.name, version },
    share:
      side && ((expectedMs) => formatShare({ rollout: rollout.id, side, stage: rollout.stage, expectedMs })),
  };
}

/** From 0 up to 1, spread evenly over ids; without a rollout it decides which version of a model the job gets. */
export const fractionOf = (id: JobId): number => hash('sha256', id, 'buffer').readUInt32BE(0) / 2 ** 32;
