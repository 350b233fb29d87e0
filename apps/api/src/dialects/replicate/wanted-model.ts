/** Finds the model of a prediction by the names that Replicate's clients use. */
import { LehrError, type ModelEntry, type Registry, type TextJobType } from '@lehr/shared';
import { refusal } from '../../base/field-problems.ts';

export const OWNER = 'lehr';

export interface WantedModel {
  /** `name`, `name@version`, or two of them joined by `+`. */
  readonly model: string;
  readonly type: 'text-to-image' | 'speech-to-text' | 'speech-to-image' | 'picture-transform' | TextJobType;
}

/** The model in the path `/v1/models/{owner}/{name}`. Throws `model-not-found`. */
export function wantedByPath(registry: Registry, owner: string, name: string): WantedModel {
  if (owner !== OWNER) throw notFound(`${owner}/${name}`);
  return typed(registry, name);
}

/**
 * The model in `version`: `lehr/name`, `lehr/name:version`, a version's id as predictions show it (`name@version`), or a version
 * alone, which is what clients send for `lehr/name:version` and which must belong to one model only. Throws `model-not-found`
 * and `invalid-input`.
 */
export function wantedByVersion(registry: Registry, wanted: string): WantedModel {
  const [, owner, name, version] = /^([^/]+)\/([^/:]+)(?::(.+))?$/.exec(wanted) ?? [];
  if (owner !== undefined) {
    if (owner !== OWNER) throw notFound(wanted);
    // The version may be the whole id: lehr/tiny:tiny@1.
    return typed(
      registry,
      version === undefined || version.includes('@') ? (version ?? name) : `${name}@${version}`,
    );
  }
  if (wanted.includes('@')) return typed(registry, wanted);
  const owners = registry.models.filter(({ versions }) => versions.some((each) => each.version === wanted));
  if (owners.length > 1) {
    const ids = owners.map((model) => `${model.name}@${wanted}`).join(' or ');
    throw refusal('invalid-input', [
      { pointer: '/version', detail: `belongs to several models: use ${ids}` },
    ]);
  }
  if (!owners[0]) throw notFound(wanted);
  return typed(registry, `${owners[0].name}@${wanted}`);
}

function typed(registry: Registry, model: string): WantedModel {
  if (model.includes('+')) return { model, type: 'speech-to-image' };
  const found = registry.named(model);
  if (!found) throw notFound(model);
  return { model, type: typeOf(found) };
}

const NATIVE_TYPES = {
  diffusion: 'text-to-image',
  whisper: 'speech-to-text',
  transform: 'picture-transform',
} as const;

/** The type of the jobs that predictions of a model make: a prediction names no task, so of a text model it is the first one. */
export function typeOf(entry: ModelEntry): Exclude<WantedModel['type'], 'speech-to-image'> {
  if (entry.task === 'text') return entry.tasks[0];
  return NATIVE_TYPES[entry.task];
}

const notFound = (wanted: string): LehrError =>
  new LehrError('model-not-found', `There is no model ${JSON.stringify(wanted.slice(0, 80))}.`);
