/** Resolves a request: model and version, every field with its value, its group and its price. */
import {
  type DiffusionGroup,
  formatModelRef,
  groupQueueName,
  LANGUAGE_NAMES,
  type MediaSource,
  type ModelRef,
  type NodePicture,
  pictureReference,
  type Registry,
  type SpeechToTextInput,
  type TextToImageInput,
  type WorkerStatus,
} from '@lehr/shared';
import { refusal } from '../base/field-problems.ts';
import { fleetIndex } from '../fleet/fleet-index.ts';
import { completeInput } from './complete-input.ts';
import { type LocatedMedia, locateMedia, type MediaParts } from './media-input.ts';
import { priceOf, priceOfSpeech } from './price.ts';
import { resolveModel } from './resolve-model.ts';
import { resolveText } from './resolve-text.ts';
import { isTextRequest, type ResolveContext, type ResolvedWork, type WorkRequest } from './work.ts';

/** Prices that are the same for every version of a model. */
const NO_FLEET: readonly WorkerStatus[] = [];

export interface ResolveParts extends MediaParts {
  readonly registry: Registry;
}

/** Throws `model-not-found` and `invalid-input`. */
export async function resolveWork(
  parts: ResolveParts,
  context: ResolveContext,
  request: WorkRequest,
): Promise<ResolvedWork> {
  if (isTextRequest(request)) {
    const chosen = resolveModel(parts.registry, context, 'text', request.model, request.type);
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
  const { fleet } = context;
  const { model, ref, share } = resolveModel(parts.registry, context, 'diffusion', request.model);
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
    rollout: share?.(priceOf(input, group, NO_FLEET, model)),
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
