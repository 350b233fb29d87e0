/** The API keys in Redis: one hash per key, with a digest in place of the secret. */
import {
  type ApiKey,
  type AuditAction,
  type AuditFacts,
  DEFAULT_LIMITS,
  type KeyChange,
  type KeyLimits,
  KeyLimitsSchema,
  type KeyRequest,
  LehrError,
  type NewApiKey,
  SCOPES,
  type TenantId,
} from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import { z } from 'zod';
import { type Actor, APPEND_AUDIT_LUA, type AuditTarget } from '../audit/audit-log.ts';
import { type DigestMatch, drawKey, isKeyId, KeyDigests, keyPrefix, writeKey } from './key-secrets.ts';

/** Fields as text; limits and scopes as JSON. */
const StoredKeySchema = z.object({
  id: z.string(),
  env: z.string(),
  digest: z.string(),
  /** Fingerprint of the pepper of the digest. */
  pepper: z.string(),
  tenant: z.custom<TenantId>((value) => typeof value === 'string' && value !== ''),
  name: z.string().default(''),
  /** Without those of a newer version, which this one gives no right. */
  scopes: z
    .preprocess((text) => JSON.parse(String(text)), z.array(z.string()))
    .transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope))),
  limits: z
    .preprocess((text) => JSON.parse(String(text)), z.object(KeyLimitsSchema.shape).partial())
    .transform((limits): KeyLimits => ({ ...DEFAULT_LIMITS, ...limits })),
  created_at: z.coerce.number(),
  /** ms; absent: the key does not expire. */
  expires_at: z.coerce.number().optional(),
  last_used_at: z.coerce.number().optional(),
});
export type StoredKey = z.output<typeof StoredKeySchema>;

/** A key as its administrator sees it, without what its tenant has used. */
export type KeyFacts = Omit<ApiKey, 'usage'>;

/**
 * Creates a key, unless its id is taken. KEYS[1] ids of all keys, [2] the key, [3] the audit log; ARGV[1] the id, [2] the time, [3]
 * retention of the log, [4] facts for it, then name, value, ...
 */
const CREATE_LUA = `${APPEND_AUDIT_LUA}
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
append_audit(KEYS[3], ARGV[3], ARGV[4])
redis.call('HSET', KEYS[2], unpack(ARGV, 5))
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return 1`;

/**
 * Sets fields of a key that exists, and removes those with an empty value. A key that was revoked meanwhile is not created again.
 * KEYS[1] the key, [2] the audit log; ARGV[1] retention of the log, [2] facts for it, without the tenant, or '' for no entry, [3] limits to
 * set, JSON by name, or '', then name, value, ... Returns the key as it is then, empty when there is none.
 */
const CHANGE_LUA = `${APPEND_AUDIT_LUA}
local key = KEYS[1]
if redis.call('EXISTS', key) == 0 then return {} end
if ARGV[2] ~= '' then
  local facts = cjson.decode(ARGV[2])
  facts.tenant = redis.call('HGET', key, 'tenant') or cjson.null
  append_audit(KEYS[2], ARGV[1], facts)
end
if ARGV[3] ~= '' then
  local limits = cjson.decode(redis.call('HGET', key, 'limits') or '{}')
  for name, value in pairs(cjson.decode(ARGV[3])) do limits[name] = value end
  redis.call('HSET', key, 'limits', cjson.encode(limits))
end
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', key, ARGV[i]) else redis.call('HSET', key, ARGV[i], ARGV[i + 1]) end
end
return redis.call('HGETALL', key)`;

/**
 * Deletes a key. The deletion goes first: a full Redis allows it, and with it the rest of the script, so that a leaked key can
 * always be revoked. KEYS[1] the key, [2] ids of all keys, [3] its budget, [4] the audit log, [5] its sessions; ARGV[1] the id, [2] retention of the
 * log, [3] facts for it, without the tenant.
 */
const REVOKE_LUA = `${APPEND_AUDIT_LUA}
local tenant = redis.call('HGET', KEYS[1], 'tenant')
local removed = redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[3], KEYS[5])
if removed == 0 then return 0 end
local facts = cjson.decode(ARGV[3])
facts.tenant = tenant or cjson.null
append_audit(KEYS[4], ARGV[2], facts)
return 1`;

export class KeyStore {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #digests: KeyDigests;
  readonly #audit: AuditTarget;
  readonly #create: Script;
  readonly #change: Script;
  readonly #revoke: Script;

  /** `peppers` is LEHR_KEY_PEPPER. */
  constructor(redis: Redis, keys: Keys, audit: AuditTarget, peppers: readonly [string, ...string[]]) {
    this.#redis = redis;
    this.#keys = keys;
    this.#audit = audit;
    this.#digests = new KeyDigests(peppers);
    this.#create = defineScript(redis, 'lehrCreateKey', CREATE_LUA);
    this.#change = defineScript(redis, 'lehrChangeKey', CHANGE_LUA);
    this.#revoke = defineScript(redis, 'lehrRevokeKey', REVOKE_LUA);
  }

  /** Of the peppers that this process has. */
  get pepperFingerprints(): readonly string[] {
    return this.#digests.fingerprints;
  }

  /** Creates a key. The result is the only place that has its secret. `now` in ms. */
  async create(request: KeyRequest, now: number, actor: Actor): Promise<Omit<NewApiKey, 'usage'>> {
    const text = drawKey();
    const { expires_at, limits, ...rest } = request;
    const stored: StoredKey = {
      ...rest,
      id: text.id,
      tenant: request.tenant as TenantId,
      ...this.#digests.digestOf(text.secret),
      limits: { ...DEFAULT_LIMITS, ...limits },
      created_at: now,
      ...(expires_at !== null && { expires_at: Date.parse(expires_at) }),
    };
    const { tenant, ...changes } = request;
    const facts = factsOf('key.created', actor, text.id, tenant, changes);
    const created = await this.#create.run(
      [this.#keys.apiKeys, this.#keys.apiKey(text.id), this.#audit.key],
      [text.id, now, this.#audit.retentionMs, facts, ...Object.entries(encode(stored)).flat()],
    );
    // The id is taken: create another one.
    if (created === 0) return this.create(request, now, actor);
    this.#audit.appended('key.created');
    return { ...this.#present(stored), key: writeKey(request.env, text) };
  }

  /** Undefined when there is no such key. */
  async find(id: string): Promise<StoredKey | undefined> {
    if (!isKeyId(id)) return undefined;
    return decode(await this.#redis.hgetall(this.#keys.apiKey(id)));
  }

  /** All keys, the oldest first. */
  async list(): Promise<KeyFacts[]> {
    const ids = await this.#redis.zrange(this.#keys.apiKeys, '0', '-1');
    const pipeline = this.#redis.pipeline();
    for (const id of ids) pipeline.hgetall(this.#keys.apiKey(id));
    const replies = (await pipeline.exec()) ?? [];
    return replies.flatMap(([error, reply]) => {
      if (error) throw error;
      const stored = decode(reply as Record<string, string>);
      return stored ? [this.#present(stored)] : [];
    });
  }

  /** Undefined when there is no such key. */
  async change(id: string, change: KeyChange, actor: Actor): Promise<KeyFacts | undefined> {
    if (!isKeyId(id)) return undefined;
    const { name, scopes, expires_at, limits } = change;
    const fields = {
      ...(name !== undefined && { name }),
      ...(scopes && { scopes: JSON.stringify(scopes) }),
      ...(expires_at !== undefined && {
        expires_at: expires_at === null ? '' : String(Date.parse(expires_at)),
      }),
    };
    const changed = await this.#write(id, fields, factsOf('key.changed', actor, id, null, change), limits);
    if (!changed) return undefined;
    this.#audit.appended('key.changed');
    return this.#present(changed);
  }

  /** `now` in ms. */
  async markUsed(id: string, now: number): Promise<void> {
    await this.#write(id, { last_used_at: String(now) });
  }

  /** Stores the digest of the key again, made with the current pepper. */
  async renewDigest(id: string, secret: string): Promise<void> {
    await this.#write(id, { ...this.#digests.digestOf(secret) });
  }

  /** Returns false when there was no such key. */
  async revoke(id: string, actor: Actor): Promise<boolean> {
    if (!isKeyId(id)) return false;
    const removed = await this.#revoke.run(
      [
        this.#keys.apiKey(id),
        this.#keys.apiKeys,
        this.#keys.budget(id),
        this.#audit.key,
        this.#keys.sessions(id),
      ],
      [id, this.#audit.retentionMs, factsOf('key.revoked', actor, id, null, {})],
    );
    if (removed === 0) return false;
    this.#audit.appended('key.revoked');
    return true;
  }

  /** Compares digests in constant time. */
  matchSecret(stored: StoredKey, secret: string): DigestMatch {
    return this.#digests.match(stored, secret);
  }

  #present(stored: StoredKey): KeyFacts {
    return present(stored, this.pepperFingerprints);
  }

  /** The key as it is then; undefined when there is no such key. */
  async #write(
    id: string,
    fields: Readonly<Record<string, string>>,
    facts = '',
    limits?: Partial<KeyLimits>,
  ): Promise<StoredKey | undefined> {
    const keys = [this.#keys.apiKey(id), this.#audit.key];
    const merged = limits ? JSON.stringify(limits) : '';
    const args = [this.#audit.retentionMs, facts, merged, ...Object.entries(fields).flat()];
    const flat = (await this.#change.run(keys, args)) as string[];
    const hash: Record<string, string> = {};
    for (let i = 0; i < flat.length; i += 2) hash[flat[i]] = flat[i + 1];
    return decode(hash);
  }
}

/** As JSON. */
function factsOf(
  action: AuditAction,
  { keyId, address }: Actor,
  target: string,
  tenant: string | null,
  changes: object,
): string {
  const facts: AuditFacts = { action, actor: keyId, tenant, target, address, changes: { ...changes } };
  return JSON.stringify(facts);
}

function encode({ scopes, limits, ...fields }: StoredKey): Record<string, string | number> {
  return { ...fields, scopes: JSON.stringify(scopes), limits: JSON.stringify(limits) };
}

function decode(hash: Record<string, string>): StoredKey | undefined {
  if (Object.keys(hash).length === 0) return undefined;
  const parsed = StoredKeySchema.safeParse(hash);
  if (parsed.success) return parsed.data;
  throw new LehrError('internal', `Key ${hash.id} does not fit its schema. This is a bug in Lehr.`, {
    cause: parsed.error,
  });
}

const present = (stored: StoredKey, peppers: readonly string[]): KeyFacts => ({
  id: stored.id,
  object: 'key',
  tenant: stored.tenant,
  name: stored.name,
  prefix: keyPrefix(stored.env, stored.id),
  scopes: stored.scopes,
  limits: stored.limits,
  usable: peppers.includes(stored.pepper),
  created_at: iso(stored.created_at),
  expires_at: stored.expires_at === undefined ? null : iso(stored.expires_at),
  last_used_at: stored.last_used_at === undefined ? null : iso(stored.last_used_at),
});

const iso = (ms: number): string => new Date(ms).toISOString();
