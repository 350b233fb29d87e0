/** `wait_for_model: false`: a call is refused when no worker has its model open. */
import { type Clock, formatModelRef, isTextJobType, LehrError, type Registry } from '@lehr/shared';
import { type FleetView, serving } from '../../fleet/fleet-view.ts';
import { LOADING_S, ModelLoadingError } from './errors.ts';
import type { Wanted } from './wanted.ts';

interface CheckParts {
  readonly fleet: FleetView;
  readonly registry: Registry;
  readonly clock: Pick<Clock, 'sleep'>;
}

/** Clients repeat such a call at once and without an end, so the refusal takes a second. */
const REFUSE_AFTER_MS = 1000;

/** By default a call waits, as every job does. Throws `unavailable`, after a second, and `model-not-found`. */
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
