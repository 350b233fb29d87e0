/**
 * Sessions of the studio in Redis: one hash for each API key, by the digest of the session's token. A session is no right by itself:
 * each request finds the caller of its key again, so a key that is revoked, expires or loses a scope takes its sessions with it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AuditAction, AuditFacts, Clock } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import { z } from 'zod';
import { type Actor, APPEND_AUDIT_LUA, type AuditTarget } from '../audit/audit-log.ts';
import type { Authenticator, Caller } from '../auth/authenticator.ts';

const CREATE_LUA = `${APPEND_AUDIT_LUA}\n${readFileSync(new URL('./create-session.lua', import.meta.url), 'utf8')}`;

/**
 * KEYS[1] the sessions of a key, [2] the audit log, [3] the generation of the key's sign-in codes; ARGV[1] a digest, or '' for all,
 * [2] retention of the log, [3] facts for it, [4] the next generation, [5] for how many ms it is kept.
 */
const END_LUA = `${APPEND_AUDIT_LUA}
if ARGV[1] == '' then redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[5]) end
local ended = ARGV[1] == '' and redis.call('DEL', KEYS[1]) or redis.call('HDEL', KEYS[1], ARGV[1])
if ended == 1 then append_audit(KEYS[2], ARGV[2], ARGV[3]) end
return ended`;

/** Reads a key and deletes it in one step, so that of two requests with the same code only one signs in. */
const TAKE_LUA = `
local value = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return value`;

/** A browser that signs in again and again must not fill Redis. */
const MAX_SESSIONS = 50;
const CODE_MS = 15 * 60_000;
/** A generation is kept for longer than the codes that were made before it. */
const GENERATION_MS = 2 * CODE_MS;

const SessionSchema = z.object({ proof: z.string(), created_at: z.number(), expires_at: z.number() });
const CodeSchema = z.object({
  key: z.string(),
  proof: z.string(),
  generation: z.string().nullable(),
});
type StoredSession = z.infer<typeof SessionSchema>;

export interface SessionStoreOptions {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly audit: AuditTarget;
  readonly authenticator: Pick<Authenticator, 'find'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly lifetimeMs: number;
  /** Recognises the configured key, whose id is the same for every value: with another value its sessions end. */
  readonly rootProof: string;
}

export interface Session {
  /** What the cookie holds: `<key id>.<secret>`. */
  readonly token: string;
  readonly caller: Caller;
  /** Ms since the epoch. */
  readonly expiresAt: number;
}

export class SessionStore {
  readonly #options: SessionStoreOptions;
  readonly #create: Script;
  readonly #end: Script;
  readonly #take: Script;

  constructor(options: SessionStoreOptions) {
    const { redis } = options;
    this.#options = options;
    this.#create = defineScript(redis, 'lehrCreateSession', CREATE_LUA);
    this.#end = defineScript(redis, 'lehrEndSession', END_LUA);
    this.#take = defineScript(redis, 'lehrTakeSignInCode', TAKE_LUA);
  }

  async create(caller: Caller, actor: Actor): Promise<Session> {
    const { keys, audit, clock, lifetimeMs } = this.#options;
    const now = clock.now();
    const token = `${caller.keyId}.${randomSecret()}`;
    const expiresAt = now + lifetimeMs;
    const stored = { proof: this.#proofOf(caller.keyId), created_at: now, expires_at: expiresAt };
    await this.#create.run(
      [keys.sessions(caller.keyId), audit.key],
      [
        digestOf(token),
        JSON.stringify(stored),
        now,
        lifetimeMs,
        MAX_SESSIONS,
        audit.retentionMs,
        factsOf('session.created', actor, caller),
      ],
    );
    audit.appended('session.created');
    return { token, caller, expiresAt };
  }

  /** Undefined when the session has ended, and when its key is no longer valid. */
  async find(token: string): Promise<Session | undefined> {
    const { redis, keys, authenticator } = this.#options;
    const keyId = keyIdOf(token);
    if (keyId === undefined) return undefined;
    const digest = digestOf(token);
    const stored = this.#valid(keyId, await redis.hget(keys.sessions(keyId), digest));
    if (!stored) return undefined;
    const caller = await authenticator.find(keyId);
    return caller && { token, caller: { ...caller, session: digest }, expiresAt: stored.expires_at };
  }

  /** Those of these digests whose sessions have ended or expired. */
  async endedOf(keyId: string, digests: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const asked = [...digests];
    if (asked.length === 0) return new Set();
    const { redis, keys } = this.#options;
    const found = await redis.hmget(keys.sessions(keyId), ...asked);
    return new Set(asked.filter((_, i) => !this.#valid(keyId, found[i] ?? null)));
  }

  end({ token, caller }: Session, actor: Actor): Promise<void> {
    return this.#endThose(digestOf(token), caller, actor);
  }

  /** All sessions of the key, in every browser, and its sign-in codes that were not used. */
  endAll({ caller }: Session, actor: Actor): Promise<void> {
    return this.#endThose('', caller, actor);
  }

  /** A code that signs in once. */
  async createCode(caller: Caller): Promise<{ readonly code: string; readonly expiresAt: number }> {
    const { redis, keys, clock } = this.#options;
    const code = randomSecret();
    const generation = await redis.get(keys.signInGeneration(caller.keyId));
    const value = JSON.stringify({ key: caller.keyId, proof: this.#proofOf(caller.keyId), generation });
    await redis.set(keys.signIn(digestOf(code)), value, 'PX', CODE_MS);
    return { code, expiresAt: clock.now() + CODE_MS };
  }

  /** The caller whose code this is; undefined for a code that was used, has expired, was ended by `endAll` or never existed. */
  async redeem(code: string): Promise<Caller | undefined> {
    const { redis, keys, authenticator } = this.#options;
    const text = await this.#take.run([keys.signIn(digestOf(code))], []);
    if (typeof text !== 'string') return undefined;
    const { key, proof, generation } = CodeSchema.parse(JSON.parse(text));
    // Without a current generation, all codes of earlier ones have expired.
    const current = await redis.get(keys.signInGeneration(key));
    if (current !== null && current !== generation) return undefined;
    return proof === this.#proofOf(key) ? authenticator.find(key) : undefined;
  }

  async #endThose(digest: string, caller: Caller, actor: Actor): Promise<void> {
    const { keys, audit } = this.#options;
    const facts = factsOf('session.ended', actor, caller, digest === '' ? { all: true } : {});
    const ended = await this.#end.run(
      [keys.sessions(caller.keyId), audit.key, keys.signInGeneration(caller.keyId)],
      [digest, audit.retentionMs, facts, randomSecret(), GENERATION_MS],
    );
    if (ended === 1) audit.appended('session.ended');
  }

  /** The session of a field of the hash, if it has not expired and is of the current value of its key. */
  #valid(keyId: string, text: string | null): StoredSession | undefined {
    if (text === null) return undefined;
    const stored = SessionSchema.parse(JSON.parse(text));
    const isValid = stored.expires_at > this.#options.clock.now() && stored.proof === this.#proofOf(keyId);
    return isValid ? stored : undefined;
  }

  #proofOf(keyId: string): string {
    return keyId === 'root' ? this.#options.rootProof : '';
  }
}

const TOKEN = /^([A-Za-z0-9]{1,16})\.[\w-]{43}$/;
const keyIdOf = (token: string): string | undefined => TOKEN.exec(token)?.[1];

const randomSecret = (): string => randomBytes(32).toString('base64url');
const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** As JSON. */
function factsOf(
  action: AuditAction,
  { address }: Actor,
  caller: Caller,
  changes: AuditFacts['changes'] = {},
): string {
  const { keyId, tenant } = caller;
  const facts: AuditFacts = { action, actor: keyId, tenant, target: keyId, address, changes };
  return JSON.stringify(facts);
}
