/** Pauses in Redis. A pause, the marks of its group queues and its entry in the audit log are one step. */
import {
  type AuditAction,
  type Clock,
  EVERYTHING,
  LehrError,
  type Pause,
  type PauseRequest,
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

  /** Throws `unavailable` when new jobs of one of these models (`name@version`) are refused. */
  async checkOpen(models: readonly string[]): Promise<void> {
    const pauses = await this.recent();
    if (pauses.length === 0) return;
    for (const model of models) {
      const pause = pauseOf(pauses, model);
      if (pause?.submissions !== 'refused') continue;
      const what = pause.model === EVERYTHING ? 'All models are' : `The model ${pause.model} is`;
      const why = pause.reason === null ? '' : `: ${pause.reason}`;
      throw new LehrError('unavailable', `${what} paused, and new jobs are refused${why}.`, {
        retryAfterS: RETRY_AFTER_S,
      });
    }
  }

  /** Pauses `model` (`name`, `name@version` or `*`), or changes its pause. */
  async set(model: string, wanted: PauseRequest, actor: Actor): Promise<Pause> {
    const { submissions, now } = wanted;
    const reason = wanted.reason ?? null;
    const at = new Date(this.#options.clock.now()).toISOString();
    const pause: Pause = { object: 'pause', model, submissions, now, reason, at, by: actor.keyId ?? 'lehr' };
    await this.#write(model, JSON.stringify(pause), actor, { submissions, now, reason });
    return pause;
  }

  /** Resumes it. Throws `not-found` when it is not paused. */
  async end(model: string, actor: Actor): Promise<void> {
    if (await this.#write(model, '', actor, {})) return;
    throw new LehrError('not-found', `${JSON.stringify(model)} is not paused.`);
  }

  async #write(
    model: string,
    pause: string,
    actor: Actor,
    changes: Record<string, unknown>,
  ): Promise<boolean> {
    const { keys, audit } = this.#options;
    const action: AuditAction = pause === '' ? 'pause.ended' : 'pause.set';
    const facts = {
      action,
      actor: actor.keyId,
      tenant: null,
      target: model,
      address: actor.address,
      changes,
    };
    const changed = await this.#change.run(
      [audit.key],
      [keys.prefix, model, pause, audit.retentionMs, JSON.stringify(facts)],
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
