/** The secrets that sign webhooks: one per owner, and for a day after a rotation the one before it. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LehrError, type TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import type { Sealer } from './seal.ts';

const SECRETS_LUA = readFileSync(new URL('./secrets.lua', import.meta.url), 'utf8');
const SECRET_BYTES = 32;
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

interface Stored {
  readonly sealed: string;
  readonly created_at: number;
  readonly expires_at?: number;
}

export class WebhookSecrets {
  readonly #keys: Keys;
  readonly #sealer: Sealer;
  readonly #script: Script;

  constructor(redis: Redis, keys: Keys, sealer: Sealer) {
    this.#keys = keys;
    this.#sealer = sealer;
    this.#script = defineScript(redis, 'lehrSecrets', SECRETS_LUA);
  }

  /** All keys that sign now, the current one first. */
  async signing(owner: TenantId): Promise<string[]> {
    const { live } = await this.#ask(owner, 'live');
    return live.map(({ sealed }) => this.#sealer.open(sealed, owner));
  }

  async list(owner: TenantId): Promise<LiveSecret[]> {
    const { live } = await this.#ask(owner, 'live');
    return live.map(({ created_at, expires_at }) => ({ createdAt: created_at, expiresAt: expires_at }));
  }

  /** The current one. Throws `conflict` when it has been shown before. */
  async show(owner: TenantId): Promise<ShownSecret> {
    const { granted, live } = await this.#ask(owner, 'show');
    if (granted) return this.#opened(live[0], owner);
    throw new LehrError('conflict', 'The secret has been shown before; rotate it to get another.');
  }

  /** A new one, which signs from now on; the one before signs too, for a day. */
  async rotate(owner: TenantId): Promise<ShownSecret> {
    const { live } = await this.#ask(owner, 'rotate');
    return this.#opened(live[0], owner);
  }

  #opened({ sealed, created_at }: Stored, owner: TenantId): ShownSecret {
    return { key: this.#sealer.open(sealed, owner), createdAt: created_at };
  }

  async #ask(owner: TenantId, what: string): Promise<{ granted: boolean; live: readonly Stored[] }> {
    const fresh = this.#sealer.seal(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}`, owner);
    const key = this.#keys.hookSecrets(owner);
    const [granted, list] = (await this.#script.run([key], [fresh, what, OVERLAP_MS])) as [number, string];
    return { granted: granted === 1, live: JSON.parse(list) };
  }
}
