/** Pauses in Redis. A pause, the marks of its group queues and its entry in the audit log are one step. */
import {
  type AuditAction,
  type Clock,
  EVERYTHING,
  LehrError,
  type Pause,
  type PauseRequest,
  type TenantId,
  tenantOf,
} from '@lehr/shared';
import { pauseOf, readPauses, SET_PAUSE_LUA } from '@lehr/shared/queue';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import { type Actor, APPEND_AUDIT_LUA, type AuditTarget } from '../access/audit/audit-log.ts';
import { Recent } from '../base/recent.ts';

export interface PauseStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly audit: AuditTarget;
  readonly clock: Clock;
}

/** Requests use a reading that is at most this old, and for as long again the older one while the next is under way. */
const TTL_MS = 1000;
/** Nobody knows when a pause ends. */
const RETRY_AFTER_S = 60;

/** KEYS[1] the audit log; ARGV[1] <prefix>, [2] and [3] target and pause as for set_pause, [4] retention of the log, [5] its facts. */
const CHANGE_LUA = `${APPEND_AUDIT_LUA}
${SET_PAUSE_LUA}
local changed = set_pause(ARGV[1], ARGV[2], ARGV[3])
if changed == 1 then append_audit(KEYS[1], ARGV[4], ARGV[5]) end
return changed`;

export class PauseStore {
  readonly #options: PauseStoreOptions;
  readonly #change: Script;
  #recent: Recent<readonly Pause[]>;

  constructor(options: PauseStoreOptions) {
    this.#options = options;
    this.#change = defineScript(options.redis, 'lehrChangePause', CHANGE_LUA);
    this.#recent = this.#newRecent();
  }

  list(): Promise<readonly Pause[]> {
    return readPauses(this.#options.redis, this.#options.keys);
  }

  /** At most two seconds old: one read of Redis a second for all requests of this process. */
  recent(): Promise<readonly Pause[]> {
    return this.#recent.get();
  }

  /** Throws `unavailable` when new jobs of the tenant, or of one of these models (`name@version`), are refused. */
  async checkOpen(tenant: TenantId, models: readonly string[]): Promise<void> {
    const pauses = await this.recent();
    if (pauses.length === 0) return;
    const found = [
      pauses.find((pause) => pause.tenant === tenant),
      ...models.map((model) => pauseOf(pauses, model)),
    ];
    const refusing = found.find((pause) => pause?.submissions === 'refused');
    if (refusing) throw refusal(refusing);
  }

  /** Pauses `target` (`name`, `name@version`, `*` or `tenant:<name>`), or changes its pause. */
  async set(target: string, wanted: PauseRequest, actor: Actor): Promise<Pause> {
    const { submissions, now } = wanted;
    const reason = wanted.reason ?? null;
    const at = new Date(this.#options.clock.now()).toISOString();
    const tenant = tenantOf(target) ?? null;
    const model = tenant === null ? target : null;
    const by = actor.keyId ?? 'lehr';
    const pause: Pause = { object: 'pause', model, tenant, submissions, now, reason, at, by };
    await this.#write(target, JSON.stringify(pause), actor, { submissions, now, reason });
    return pause;
  }

  /** Resumes it. Throws `not-found` when it is not paused. */
  async end(target: string, actor: Actor): Promise<void> {
    if (await this.#write(target, '', actor, {})) return;
    throw new LehrError('not-found', `${JSON.stringify(target)} is not paused.`);
  }

  async #write(
    target: string,
    pause: string,
    actor: Actor,
    changes: Record<string, unknown>,
  ): Promise<boolean> {
    const { keys, audit } = this.#options;
    const action: AuditAction = pause === '' ? 'pause.ended' : 'pause.set';
    const facts = {
      action,
      actor: actor.keyId,
      tenant: tenantOf(target) ?? null,
      target,
      address: actor.address,
      changes,
    };
    const changed = await this.#change.run(
      [audit.key],
      [keys.prefix, target, pause, audit.retentionMs, JSON.stringify(facts)],
    );
    if (changed === 0) return false;
    // The next request of this process uses the change at once.
    this.#recent = this.#newRecent();
    audit.appended(action);
    return true;
  }

  #newRecent(): Recent<readonly Pause[]> {
    return new Recent(() => this.list(), TTL_MS, this.#options.clock, TTL_MS);
  }
}

function refusal({ model, tenant, reason }: Pause): LehrError {
  const what =
    tenant !== null
      ? `The jobs of ${tenant} are`
      : model === EVERYTHING
        ? 'All models are'
        : `The model ${model} is`;
  const why = reason === null ? '' : `: ${reason}`;
  return new LehrError('unavailable', `${what} paused, and new jobs are refused${why}.`, {
    retryAfterS: RETRY_AFTER_S,
  });
}
