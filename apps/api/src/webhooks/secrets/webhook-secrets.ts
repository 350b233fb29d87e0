/** The secrets that sign webhooks: one per owner, and the previous one for a day after a rotation. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LehrError, type TenantId } from '@lehr/shared';
import { defineScript, type Keys, type Redis, type Script } from '@lehr/shared/redis';
import type { Sealer } from './sealer.ts';

const SECRETS_LUA = readFileSync(new URL('./webhook-secrets.lua', import.meta.url), 'utf8');
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
  readonly #keys: Keys;
  readonly #sealer: Sealer;
  readonly #script: Script;

  constructor(redis: Redis, keys: Keys, sealer: Sealer) {
    this.#keys = keys;
    this.#sealer = sealer;
    this.#script = defineScript(redis, 'lehrSecrets', SECRETS_LUA);
  }

  /** All secrets that sign now, the current one first. */
  async signing(owner: TenantId): Promise<string[]> {
    const { live } = await this.#run(owner, 'live');
    return live.map(({ sealed }) => this.#sealer.open(sealed, owner));
  }

  async list(owner: TenantId): Promise<LiveSecret[]> {
    const { live } = await this.#run(owner, 'live');
    return live.map(({ created_at, expires_at }) => ({ createdAt: created_at, expiresAt: expires_at }));
  }

  /** The current one. Throws `conflict` when it was shown before. */
  async show(owner: TenantId): Promise<ShownSecret> {
    const { granted, live } = await this.#run(owner, 'show');
    if (granted) return this.#opened(live[0], owner);
    throw new LehrError('conflict', 'The secret was shown before. Rotate it to get a new one.');
  }

  /** A new one, which signs from now on; the previous one signs as well for a day. */
  async rotate(owner: TenantId): Promise<ShownSecret> {
    const { live } = await this.#run(owner, 'rotate');
    return this.#opened(live[0], owner);
  }

  #opened({ sealed, created_at }: StoredSecret, owner: TenantId): ShownSecret {
    return { key: this.#sealer.open(sealed, owner), createdAt: created_at };
  }

  async #run(
    owner: TenantId,
    command: 'live' | 'show' | 'rotate',
  ): Promise<{ granted: boolean; live: readonly StoredSecret[] }> {
    const fresh = this.#sealer.seal(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}`, owner);
    const key = this.#keys.hookSecrets(owner);
    const reply = (await this.#script.run([key], [fresh, command, OVERLAP_MS])) as [number, string];
    const [granted, list] = reply;
    return { granted: granted === 1, live: JSON.parse(list) };
  }
}
