/** Resolves a request: model and version, every field with its value, its group and its price. */
import { createHash } from 'node:crypto';
import {
  type DiffusionGroup,
  formatModelRef,
  groupQueueName,
  type JobId,
  type JobRequest,
  LANGUAGE_NAMES,
  type MediaSource,
  type ModelRef,
  type NodePicture,
  pictureReference,
  type Registry,
  type SpeechToTextInput,
  type SpeechToTextRequest,
  type TenantId,
  type TextToImageInput,
  type TextToImageRequest,
  type WorkerStatus,
} from '@lehr/shared';
import type { NewJob } from '@lehr/shared/records';
import { refusal } from '../field-problems.ts';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { completeInput } from './complete-input.ts';
import { type Attachment, type LocatedMedia, locateMedia, type MediaParts } from './media-input.ts';
import { priceOf, priceOfSpeech } from './price.ts';
import { isTextRequest, resolveText } from './resolve-text.ts';
import type { TextRequest } from './text-request.ts';

export interface ResolveParts extends MediaParts {
  readonly registry: Registry;
}

export type ResolvedWork = Pick<NewJob, 'type' | 'model' | 'queue' | 'cost' | 'input'> & {
  /** To be stored before the job is. */
  readonly attached?: Attachment | undefined;
};

/** What a job is resolved against, besides its request. */
export interface ResolveContext {
  readonly tenant: TenantId;
  readonly job: JobId;
  /** Distinguishes the nodes of one job. */
  readonly name: string;
  /** Whether it is a node of a workflow, so that its picture may be that of another node. */
  readonly isNode?: boolean;
  readonly fleet: readonly WorkerStatus[];
}

/** A request that one worker does: no workflow. */
export type WorkRequest =
  | {
      readonly type: 'text-to-image';
      readonly model?: string | undefined;
      readonly input: TextToImageRequest;
    }
  | {
      readonly type: 'speech-to-text';
      readonly model?: string | undefined;
      readonly input: SpeechToTextRequest;
    }
  | TextRequest;

export const isWork = (request: JobRequest): request is JobRequest & WorkRequest =>
  request.type !== 'workflow' && request.type !== 'speech-to-image';

/** Throws `model-not-found` and `invalid-input`. The job's id decides which version of a model it gets. */
export async function resolveWork(
  parts: ResolveParts,
  context: ResolveContext,
  request: WorkRequest,
): Promise<ResolvedWork> {
  if (isTextRequest(request)) {
    const chosen = parts.registry.resolve('text', request.model, fractionOf(context.job), request.type);
    return resolveText(context, request, chosen);
  }
  return request.type === 'text-to-image'
    ? resolvePicture(parts, context, request)
    : resolveSpeech(parts, context, request);
}

async function resolvePicture(
  parts: ResolveParts,
  context: ResolveContext,
  request: Extract<WorkRequest, { type: 'text-to-image' }>,
): Promise<ResolvedWork> {
  const { job, fleet } = context;
  const { model, ref } = parts.registry.resolve('diffusion', request.model, fractionOf(job));
  const input = completeInput(request.input, model);
  const image = await locatePicture(parts, context, request.input.image);
  const group = groupOf(input, ref, fleet);
  return {
    type: 'text-to-image',
    model: formatModelRef(ref),
    queue: groupQueueName(group),
    cost: priceOf(input, group, fleet, model),
    input: image ? { ...input, image: image.source } : input,
    attached: image?.attached,
  };
}

async function locatePicture(
  parts: ResolveParts,
  context: ResolveContext,
  image: string | undefined,
): Promise<(Omit<LocatedMedia, 'source'> & { readonly source: MediaSource | NodePicture }) | undefined> {
  if (image === undefined) return undefined;
  const node = context.isNode ? pictureReference(image) : undefined;
  if (node !== undefined) return { source: { kind: 'node', node } };
  return locateMedia(parts, context, { field: 'image', value: image });
}

async function resolveSpeech(
  parts: ResolveParts,
  context: ResolveContext,
  request: Extract<WorkRequest, { type: 'speech-to-text' }>,
): Promise<ResolvedWork> {
  const { job, fleet } = context;
  const { ref } = parts.registry.resolve('whisper', request.model, fractionOf(job));
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
    attached: audio.attached,
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

/** From 0 up to 1, spread evenly over ids; it decides which version of a model the job gets. */
export const fractionOf = (id: JobId): number =>
  createHash('sha256').update(id).digest().readUInt32BE(0) / 2 ** 32;
