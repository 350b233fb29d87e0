/** Rollouts in Redis. A change, its entries in the history and in the audit log, and its webhook for operators are one step. */
import {
  type AuditFacts,
  type Clock,
  LehrError,
  type LogEvidence,
  NO_EVIDENCE,
  parsedStored,
  type RolloutAction,
  type RolloutEvent,
  RolloutEventSchema,
  type Samples,
  totalEvidence,
} from '@lehr/shared';
import { type Outcomes, parseOutcomes, stageName } from '@lehr/shared/records';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import { type Actor, APPEND_AUDIT_LUA, type AuditTarget } from '../access/audit/audit-log.ts';
import { Recent } from '../base/recent.ts';
import { OPEN_DELIVERY_LUA } from '../webhooks/deliveries/deliveries.ts';
import { rolloutDelivery } from '../webhooks/operator-webhook.ts';
import { samplesOf } from './outcomes.ts';
import { formatRollout, parseRollout, type RolloutDraft, type StoredRollout } from './rollout.ts';

/** How a rollout becomes another one; `after` undefined removes it. */
export interface RolloutStep {
  readonly action: RolloutAction;
  readonly after: RolloutDraft | undefined;
  readonly reason: string | null;
}

export interface Analysis {
  readonly samples: Samples;
  readonly evidence: LogEvidence;
}

export interface RolloutStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly audit: AuditTarget;
  readonly clock: Clock;
  /** LEHR_OPERATOR_WEBHOOK_URL: gets a webhook for each change. */
  readonly operatorUrl?: string | undefined;
  /** Called when this process has changed a rollout. */
  readonly onChanged?: (event: RolloutEvent & { readonly model: string }) => void;
}

/** A rollout as a change finds it. */
interface Present {
  readonly text: string;
  readonly current: StoredRollout | undefined;
}

const NOTHING: Analysis = { samples: samplesOf({}), evidence: NO_EVIDENCE };

const HISTORY_KEPT = 100;
/** Requests use a reading that is at most this old, and for as long again the older one while the next is under way. */
const TTL_MS = 1000;
/** Two administrators change the same rollout at once: the later one decides again with what the earlier one left. */
const TRIES = 5;

/**
 * KEYS[1] rollouts, [2] history of the model, [3] the audit log; with a webhook for operators also [4] and [5], those of open_delivery.
 *
 * ARGV[1]  the model
 * ARGV[2]  the text of the rollout that is expected, '' for none
 * ARGV[3]  the new text, '' to remove it
 * ARGV[4]  the entry of the history, [5] how many are kept
 * ARGV[6]  retention of the audit log, [7] its facts
 * ARGV[8..]  with a webhook: the other arguments of open_delivery
 *
 * Returns 0 when the rollout is another one by now.
 */
const CHANGE_LUA = `${APPEND_AUDIT_LUA}
${OPEN_DELIVERY_LUA}
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
redis.call('LPUSH', KEYS[2], ARGV[4])
redis.call('LTRIM', KEYS[2], 0, ARGV[5] - 1)
append_audit(KEYS[3], ARGV[6], ARGV[7])
if KEYS[4] then open_delivery(KEYS[4], KEYS[5], ARGV[8], ARGV[9], ARGV[10], { unpack(ARGV, 11) }) end
return 1`;

export class RolloutStore {
  readonly #options: RolloutStoreOptions;
  readonly #change: Script;
  #recent: Recent<ReadonlyMap<string, StoredRollout>>;

  constructor(options: RolloutStoreOptions) {
    this.#options = options;
    this.#change = defineScript(options.redis, 'lehrChangeRollout', CHANGE_LUA);
    this.#recent = this.#newRecent();
  }

  /** By model, at most two seconds old: one read of Redis a second for all requests of this process. */
  recent(): Promise<ReadonlyMap<string, StoredRollout>> {
    return this.#recent.get();
  }

  /** By model. Rollouts that another version of Lehr stored are left out. */
  async list(): Promise<ReadonlyMap<string, StoredRollout>> {
    const { redis, keys } = this.#options;
    const stored = await redis.hgetall(keys.rollouts);
    return new Map(
      Object.entries(stored).flatMap(([model, text]) => {
        const rollout = parseRollout(text);
        return rollout ? [[model, rollout] as const] : [];
      }),
    );
  }

  /** Newest first, without entries that are damaged or that another version wrote in another form. */
  async history(model: string): Promise<RolloutEvent[]> {
    const { redis, keys } = this.#options;
    const texts = await redis.lrange(keys.rolloutHistory(model), 0, HISTORY_KEPT - 1);
    return texts.flatMap((text) => parsedStored(RolloutEventSchema, text) ?? []);
  }

  /** How its jobs ended until now. */
  async outcomes(rollout: string): Promise<Outcomes> {
    const { redis, keys } = this.#options;
    return parseOutcomes(await redis.hgetall(keys.rolloutOutcomes(rollout)));
  }

  /** The jobs of its stage that ended, and the evidence with that of the stages before. */
  async analysis({ id, stage, carried }: StoredRollout): Promise<Analysis> {
    const { redis, keys } = this.#options;
    const samples = samplesOf(await redis.hgetall(keys.rolloutOutcomes(stageName(id, stage))));
    return { samples, evidence: totalEvidence(samples, carried) };
  }

  /**
   * Changes the rollout of a model. `decide` gets the present one with its evidence and returns the step, undefined for none, or throws; it
   * may be called again when another process changed the rollout meanwhile. Throws `conflict` when that happens again and again.
   */
  async change(
    model: string,
    actor: Actor,
    decide: (current: StoredRollout | undefined, analysis: Analysis) => RolloutStep | undefined,
  ): Promise<StoredRollout | undefined> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const text = (await this.#options.redis.hget(this.#options.keys.rollouts, model)) ?? '';
      const current = text === '' ? undefined : parseRollout(text);
      if (text !== '' && !current)
        throw new LehrError('unavailable', `Another version of Lehr wrote the rollout of ${model}.`);
      const step = decide(current, current ? await this.analysis(current) : NOTHING);
      if (!step) return current;
      const changed = await this.#write(model, actor, { text, current }, step);
      if (changed) return changed.rollout;
    }
    throw new LehrError('conflict', `The rollout of ${model} is being changed by others. Try again.`);
  }

  /** Undefined when the rollout was changed meanwhile. */
  async #write(
    model: string,
    actor: Actor,
    { text, current }: Present,
    { action, after, reason }: RolloutStep,
  ): Promise<{ readonly rollout: StoredRollout | undefined } | undefined> {
    const { keys, audit, clock, operatorUrl, onChanged } = this.#options;
    const rev = (current?.rev ?? 0) + 1;
    const next = after && formatRollout(after, rev);
    const shown = after ?? current;
    if (!shown) return { rollout: undefined };
    const event: RolloutEvent = {
      at: new Date(clock.now()).toISOString(),
      action,
      by: actor.keyId,
      reason,
      rollout: shown.id,
      stable: shown.stable,
      canary: shown.canary,
      weight: shown.weight,
      state: shown.state,
    };
    const facts = factsOf(model, actor, event);
    const webhook =
      operatorUrl === undefined ? undefined : rolloutDelivery(keys, operatorUrl, { model, rev, event });
    const written = await this.#change.run(
      [keys.rollouts, keys.rolloutHistory(model), audit.key, ...(webhook?.keys ?? [])],
      [
        model,
        text,
        next ?? '',
        JSON.stringify(event),
        HISTORY_KEPT,
        audit.retentionMs,
        JSON.stringify(facts),
        ...(webhook?.args ?? []),
      ],
    );
    if (written === 0) return undefined;
    // The next request of this process uses the change at once.
    this.#recent = this.#newRecent();
    audit.appended(facts.action);
    onChanged?.({ ...event, model });
    return { rollout: next === undefined ? undefined : parseRollout(next) };
  }

  #newRecent(): Recent<ReadonlyMap<string, StoredRollout>> {
    return new Recent(() => this.list(), TTL_MS, this.#options.clock, TTL_MS);
  }
}

function factsOf(model: string, actor: Actor, event: RolloutEvent): AuditFacts {
  const { action, stable, canary, weight, state, reason } = event;
  return {
    action: `rollout.${action}`,
    actor: actor.keyId,
    tenant: null,
    target: model,
    address: actor.address,
    changes: {
      stable,
      canary,
      weight,
      state,
      ...(reason !== null && { reason }),
    },
  };
}
