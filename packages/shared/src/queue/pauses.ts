/** Which models and tenants are paused: no worker claims their jobs. pause.lua writes it, and the marks of the group queues with it. */
import { readFileSync } from 'node:fs';
import type { TenantId } from '../base/ids.ts';
import { parsedStored } from '../base/other-versions.ts';
import { EVERYTHING, type Pause, PauseSchema, tenantTarget } from '../contracts/pause.ts';
import { IS_PAUSED_LUA } from '../records/index.ts';
import type { Keys, Redis } from '../redis/index.ts';

/** The function `set_pause`. */
export const SET_PAUSE_LUA = `${IS_PAUSED_LUA}${readFileSync(new URL('./pause.lua', import.meta.url), 'utf8')}`;

/** Whether a pause of `target` holds for jobs of a model (`name@version`), or of a tenant. */
export const isPausedBy = (target: string, model: string, tenant?: TenantId): boolean =>
  target === EVERYTHING ||
  target === model ||
  model.startsWith(`${target}@`) ||
  (tenant !== undefined && target === tenantTarget(tenant));

/** All pauses, in order of what they pause. One that another version stored in another form still pauses, and is not listed. */
export async function readPauses(redis: Redis, keys: Keys): Promise<readonly Pause[]> {
  const stored = await redis.hgetall(keys.pauses);
  return Object.keys(stored)
    .sort()
    .flatMap((target) => parsedStored(PauseSchema, stored[target]) ?? []);
}

/** The pause that holds for a model (`name@version`): of several, the one that refuses new jobs. */
export function pauseOf(pauses: readonly Pause[], model: string): Pause | undefined {
  const found = pauses.filter((pause) => pause.model !== null && isPausedBy(pause.model, model));
  return found.find(({ submissions }) => submissions === 'refused') ?? found[0];
}
