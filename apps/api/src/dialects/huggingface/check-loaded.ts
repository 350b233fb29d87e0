/** `wait_for_model: false`: a call is refused when no worker has its model open. */
import { formatModelRef, LehrError, type Registry } from '@lehr/shared';
import { type FleetView, serving } from '../../fleet/fleet-view.ts';
import { LOADING_S, ModelLoadingError } from './errors.ts';
import type { Wanted } from './wanted.ts';

/** By default a call waits, as every job does. Throws `unavailable`. */
export async function checkLoaded(
  { fleet, registry }: { readonly fleet: FleetView; readonly registry: Registry },
  { model = '' }: Wanted,
  waits: boolean,
): Promise<void> {
  if (waits) return;
  const [name, version] = model.split('@');
  const versions = registry.models.find((each) => each.name === name)?.versions ?? [];
  const workers = await fleet.workers();
  const isServed = versions
    .filter((each) => version === undefined || each.version === version)
    .some((each) => serving(workers, formatModelRef({ name, version: each.version })).length > 0);
  if (isServed) return;
  throw new LehrError('unavailable', `Model ${model} is currently loading`, {
    cause: new ModelLoadingError(),
    retryAfterS: LOADING_S,
  });
}
