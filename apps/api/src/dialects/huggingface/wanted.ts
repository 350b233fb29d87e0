/** The model and the task of a call, from its path, and whether a worker has the model open. */
import {
  type Clock,
  formatModelRef,
  isTextJobType,
  LehrError,
  type ModelEntry,
  type Registry,
  type TextJobType,
  type TransformModelEntry,
} from '@lehr/shared';
import { type FleetView, serving } from '../../fleet/fleet-view.ts';
import { LOADING_S, ModelLoadingError } from './errors.ts';

/** Tasks by the names of the pipelines of transformers. */
const TASKS = {
  'feature-extraction': 'text-embedding',
  'text-classification': 'text-classification',
  'sentiment-analysis': 'text-classification',
  'fill-mask': 'fill-mask',
  'token-classification': 'token-classification',
  ner: 'token-classification',
  'text-to-image': 'text-to-image',
  'automatic-speech-recognition': 'speech-to-text',
  'image-to-image': 'picture-transform',
  'image-classification': 'picture-transform',
} as const;

type CallType = TextJobType | 'text-to-image' | 'speech-to-text' | 'picture-transform';

export interface Wanted {
  readonly type: CallType;
  /** `name` or `name@version`; undefined: the default model of the task. */
  readonly model: string | undefined;
}

/**
 * `path` is what follows `/models/`: `name`, `owner/name`, either with `@version`, and then perhaps `/pipeline/{task}`. The owner
 * and the case of the name are ignored, so that ids of the Hub name the model that the operator offers under that name. Throws
 * `model-not-found` and `not-found`.
 */
export function wantedBy(registry: Registry, path: string): Wanted {
  const [, id = path, pipeline] = /^(.+)\/pipeline\/([^/]+)$/.exec(path) ?? [];
  const model = id.split('/').at(-1)?.toLowerCase() ?? '';
  const entry = registry.named(model);
  if (!entry) {
    const names = registry.models.map(({ name }) => name).join(', ');
    throw new LehrError(
      'model-not-found',
      `There is no model ${JSON.stringify(id.slice(0, 80))}. Offered: ${names}.`,
    );
  }
  if (pipeline === undefined) return { model, type: typeOf(entry) };
  const type = typeOfPipeline(pipeline);
  if (entry.task === 'transform' && type === 'picture-transform') checkResult(entry, pipeline);
  return { model, type };
}

/** Throws `not-found` for labels of a model that gives pictures, and the other way round. */
function checkResult({ name, result }: TransformModelEntry, pipeline: string): void {
  const own = result === 'class' ? 'image-classification' : 'image-to-image';
  if (pipeline === own) return;
  throw new LehrError('not-found', `The pipeline of ${name} is ${own}.`);
}

function typeOfPipeline(name: string): CallType {
  const task = Object.entries(TASKS).find(([known]) => known === name)?.[1];
  if (task) return task;
  const known = Object.keys(TASKS).join(', ');
  throw new LehrError(
    'not-found',
    `There is no pipeline ${JSON.stringify(name.slice(0, 80))}. Offered: ${known}.`,
  );
}

const TYPES = {
  diffusion: 'text-to-image',
  whisper: 'speech-to-text',
  transform: 'picture-transform',
} as const;

/** A call without a pipeline is of the first task of its model. */
function typeOf(entry: ModelEntry): CallType {
  if (entry.task === 'text') return entry.tasks[0];
  return TYPES[entry.task];
}

interface CheckParts {
  readonly fleet: FleetView;
  readonly registry: Registry;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** Clients repeat such a call at once and without an end, so the refusal takes a second. */
const REFUSE_AFTER_MS = 1000;

/**
 * `wait_for_model: false`: a call is refused when no worker has its model open.
 * By default a call waits, as every job does. Throws `unavailable`, after a second, and `model-not-found`.
 */
export async function checkLoaded(
  { fleet, registry, clock }: CheckParts,
  wanted: Wanted,
  waits: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (waits) return;
  const model = wanted.model ?? defaultModel(registry, wanted);
  const [, version] = model.split('@');
  const { name = '', versions = [] } = registry.named(model) ?? {};
  const workers = await fleet.workers();
  const isServed = versions
    .filter((each) => version === undefined || each.version === version)
    .some((each) => serving(workers, formatModelRef({ name, version: each.version })).length > 0);
  if (isServed) return;
  await clock.sleep(REFUSE_AFTER_MS, signal);
  throw new LehrError('unavailable', `Model ${model} is currently loading`, {
    cause: new ModelLoadingError(),
    retryAfterS: LOADING_S,
  });
}

/** Only the paths of text tasks may leave out the model. */
function defaultModel(registry: Registry, { type }: Wanted): string {
  if (!isTextJobType(type)) throw new Error(`A call of ${type} has no model. This is a bug in Lehr.`);
  return registry.resolve('text', undefined, 0, type).model.name;
}
