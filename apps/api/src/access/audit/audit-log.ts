/**
 * The audit log: a stream in Redis that is appended to, and cut off at its old end. The scripts that make a change append its entry
 * themselves (`append_audit`), so the log has no gap; this class reads it, and appends what is no change.
 */
import { readFileSync } from 'node:fs';
import { type AuditAction, type AuditEntry, type AuditFacts, AuditFactsSchema } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';

/** Defines `append_audit(key, retention_ms, facts)`. */
export const APPEND_AUDIT_LUA = readFileSync(new URL('./append-audit.lua', import.meta.url), 'utf8');
const REFUSED_LUA = `${APPEND_AUDIT_LUA}\nappend_audit(KEYS[1], ARGV[1], ARGV[2])\nreturn 1`;

/** Who makes a change. */
export interface Actor {
  /** Null: Lehr itself, or a request without a known key. */
  readonly keyId: string | null;
  readonly address: string | null;
}
export const SYSTEM_ACTOR: Actor = { keyId: null, address: null };
/** Lehr itself, where the log must say that no administrator decided. No key has this id. */
export const OWN_ACTOR: Actor = { keyId: 'lehr', address: null };

/** Where a script appends the entry of its change. */
export interface AuditTarget {
  readonly key: string;
  readonly retentionMs: number;
  /** To be called when the script has appended an entry. */
  appended(action: AuditAction): void;
}

export interface AuditOptions {
  readonly retentionMs: number;
  /** Called for every entry that this process has appended. */
  readonly onAppended?: (action: AuditAction) => void;
}

export interface AuditFilter {
  readonly tenant?: string | undefined;
  readonly action?: AuditAction | undefined;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The id after which the next page starts; undefined at the end. */
  readonly next: string | undefined;
}

/** How many entries a page may examine when its filter matches few: bounds the work of a request. */
const MAX_SCANNED = 5000;
const CHUNK = 500;

export class AuditLog implements AuditTarget {
  readonly key: string;
  readonly retentionMs: number;
  readonly #redis: Redis;
  readonly #append: Script;
  readonly #onAppended: (action: AuditAction) => void;

  constructor(redis: Redis, keys: Keys, { retentionMs, onAppended = () => {} }: AuditOptions) {
    this.key = keys.audit;
    this.retentionMs = retentionMs;
    this.#redis = redis;
    this.#append = defineScript(redis, 'lehrAppendAudit', REFUSED_LUA);
    this.#onAppended = onAppended;
  }

  /** For an entry that goes with no change. */
  async append(facts: AuditFacts): Promise<void> {
    await this.#append.run([this.key], [this.retentionMs, JSON.stringify(facts)]);
    this.appended(facts.action);
  }

  appended(action: AuditAction): void {
    this.#onAppended(action);
  }

  /** Newest first, from the entry before `cursor`. A filtered page can be short and still have a next one. */
  async page(limit: number, cursor?: string, filter: AuditFilter = {}): Promise<AuditPage> {
    const oldest = await this.#oldestKept();
    const found: AuditEntry[] = [];
    let after = cursor;
    for (let scanned = 0; scanned < MAX_SCANNED; scanned += CHUNK) {
      const end = after === undefined ? '+' : `(${after}`;
      const entries = await this.#redis.xrevrange(this.key, end, oldest, 'COUNT', CHUNK);
      for (const [id, fields] of entries) {
        if (found.length === limit) return { entries: found, next: after };
        after = id;
        const entry = parse(id, fields);
        if (entry && matches(entry, filter)) found.push(entry);
      }
      if (entries.length < CHUNK) return { entries: found, next: undefined };
    }
    return { entries: found, next: after };
  }

  /** Entries leave the stream only when another one is appended, so older ones may still be there. */
  async #oldestKept(): Promise<string> {
    const [seconds] = await this.#redis.time();
    return String(Math.max(0, Number(seconds) * 1000 - this.retentionMs));
  }
}

const matches = (entry: AuditEntry, { tenant, action }: AuditFilter): boolean =>
  (tenant === undefined || entry.tenant === tenant) && (action === undefined || entry.action === action);

/** Undefined for an entry of another version of Lehr. */
function parse(id: string, [, text]: readonly string[]): AuditEntry | undefined {
  try {
    const facts = AuditFactsSchema.parse(JSON.parse(text));
    return { ...facts, id, object: 'audit_entry', at: new Date(Number.parseInt(id, 10)).toISOString() };
  } catch {
    return undefined;
  }
}
