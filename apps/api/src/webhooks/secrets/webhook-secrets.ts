/** The secrets that sign webhooks: one per owner, and the previous one for a day after a rotation. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AuditAction, type AuditFacts, LehrError, type TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import {
  type Actor,
  APPEND_AUDIT_LUA,
  type AuditTarget,
  SYSTEM_ACTOR,
} from '../../access/audit/audit-log.ts';
import type { Sealer } from './sealer.ts';

const SECRETS_LUA = [
  APPEND_AUDIT_LUA,
  readFileSync(new URL('./webhook-secrets.lua', import.meta.url), 'utf8'),
].join('\n');
const RESEAL_LUA = readFileSync(new URL('./reseal.lua', import.meta.url), 'utf8');
const SECRET_BYTES = 32;
/** How long a rotated secret keeps signing. */
const OVERLAP_MS = 24 * 3_600_000;

export interface LiveSecret {
  /** Wall clock, ms. */
  readonly createdAt: number;
  /** When it stops signing; undefined for the current one. */
  readonly expiresAt: number | undefined;
}

export interface ShownSecret {
  /** `whsec_` and standard base64 of 32 random bytes. */
  readonly key: string;
  readonly createdAt: number;
}

interface StoredSecret {
  readonly sealed: string;
  readonly created_at: number;
  readonly expires_at?: number;
}

export class WebhookSecrets {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #sealer: Sealer;
  readonly #audit: AuditTarget;
  readonly #script: Script;
  readonly #reseal: Script;

  constructor(redis: Redis, keys: Keys, sealer: Sealer, audit: AuditTarget) {
    this.#redis = redis;
    this.#keys = keys;
    this.#sealer = sealer;
    this.#audit = audit;
    this.#script = defineScript(redis, 'lehrSecrets', SECRETS_LUA);
    this.#reseal = defineScript(redis, 'lehrReseal', RESEAL_LUA);
  }

  /** Of the keys that this process encrypts and decrypts secrets with. */
  get keyFingerprints(): readonly string[] {
    return this.#sealer.fingerprints;
  }

  /** All secrets that sign now, the current one first. */
  async signing(owner: TenantId): Promise<string[]> {
    const { live } = await this.#run(owner, 'live', SYSTEM_ACTOR);
    const opened = live.map(({ sealed }) => this.#sealer.open(sealed, owner));
    if (opened.some(({ isOutdated }) => isOutdated)) await this.#sealAgain(owner, live);
    return opened.map(({ text }) => text);
  }

  /** Encrypts all stored secrets with the current key that are encrypted with the other one. Returns the number of owners. */
  async sealAllAgain(): Promise<number> {
    let owners = 0;
    for await (const owner of this.#owners()) {
      const { live } = await this.#run(owner, 'live', SYSTEM_ACTOR);
      if (await this.#sealAgain(owner, live)) owners += 1;
    }
    return owners;
  }

  /** The owners of secrets that this process cannot decrypt. */
  async unreadable(): Promise<TenantId[]> {
    const unreadable: TenantId[] = [];
    for await (const owner of this.#owners()) {
      const { live } = await this.#run(owner, 'live', SYSTEM_ACTOR);
      if (!live.every(({ sealed }) => this.#canOpen(sealed, owner))) unreadable.push(owner);
    }
    return unreadable;
  }

  async list(owner: TenantId, actor: Actor): Promise<LiveSecret[]> {
    const { live } = await this.#run(owner, 'live', actor);
    return live.map(({ created_at, expires_at }) => ({ createdAt: created_at, expiresAt: expires_at }));
  }

  /** The current one. Throws `conflict` when it was shown before. */
  async show(owner: TenantId, actor: Actor): Promise<ShownSecret> {
    const { granted, live } = await this.#run(owner, 'show', actor);
    if (granted) return this.#opened(live[0], owner);
    throw new LehrError('conflict', 'The secret was shown before. Rotate it to get a new one.');
  }

  /**
   * A new one, which signs from now on; the previous one signs as well for a day. Throws `conflict` when so many secrets sign that
   * one of them would have to stop before its day is over.
   */
  async rotate(owner: TenantId, actor: Actor): Promise<ShownSecret> {
    const { granted, live } = await this.#run(owner, 'rotate', actor);
    if (granted) return this.#opened(live[0], owner);
    const until = new Date(live.at(-1)?.expires_at ?? 0).toISOString();
    throw new LehrError(
      'conflict',
      `${live.length} secrets sign now, which is the most. Rotate again after ${until}, when the oldest one stops.`,
    );
  }

  #opened({ sealed, created_at }: StoredSecret, owner: TenantId): ShownSecret {
    return { key: this.#sealer.open(sealed, owner).text, createdAt: created_at };
  }

  /** Returns whether any of the secrets was encrypted with the other key. */
  async #sealAgain(owner: TenantId, live: readonly StoredSecret[]): Promise<boolean> {
    const outdated = live.flatMap(({ sealed }) => {
      const { text, isOutdated } = this.#sealer.open(sealed, owner);
      return isOutdated ? [sealed, this.#sealer.seal(text, owner)] : [];
    });
    if (outdated.length > 0) await this.#reseal.run([this.#keys.hookSecrets(owner)], outdated);
    return outdated.length > 0;
  }

  #canOpen(sealed: string, owner: TenantId): boolean {
    try {
      this.#sealer.open(sealed, owner);
      return true;
    } catch {
      return false;
    }
  }

  /** Every owner that has secrets. It goes through all keys of Redis. */
  async *#owners(): AsyncGenerator<TenantId, void> {
    const prefix = this.#keys.hookSecrets('' as TenantId);
    let cursor = '0';
    do {
      const [next, found] = await this.#redis.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', 1000);
      for (const key of found) yield key.slice(prefix.length) as TenantId;
      cursor = next;
    } while (cursor !== '0');
  }

  async #run(
    owner: TenantId,
    command: 'live' | 'show' | 'rotate',
    { keyId, address }: Actor,
  ): Promise<{ granted: boolean; live: readonly StoredSecret[] }> {
    const fresh = this.#sealer.seal(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}`, owner);
    const facts: Omit<AuditFacts, 'action'> = {
      actor: keyId,
      tenant: owner,
      target: null,
      address,
      changes: {},
    };
    const [granted, list, actions] = (await this.#script.run(
      [this.#keys.hookSecrets(owner), this.#audit.key],
      [fresh, command, OVERLAP_MS, this.#audit.retentionMs, JSON.stringify(facts)],
    )) as [number, string, AuditAction[]];
    for (const action of actions) this.#audit.appended(action);
    return { granted: granted === 1, live: JSON.parse(list) };
  }
}
