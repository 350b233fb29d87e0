/**
 * What a key is made of. Its text is `lehr_<env>_<id>_<secret>`; the prefix lets secret scanners find a leaked key. Redis has the id and a
 * digest of the secret: HMAC-SHA256 under a pepper, which Redis never has.
 */
import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import type { Keys, Redis } from '@lehr/shared/redis';
import { fingerprint } from '../fingerprints.ts';

interface KeyDigest {
  /** base64url. */
  readonly digest: string;
  /** Fingerprint of the pepper. */
  readonly pepper: string;
}

/** `current`: made with the current pepper. `outdated`: it should be stored again. `wrong`: not the digest of this secret. */
export type DigestMatch = 'current' | 'outdated' | 'wrong';

interface Pepper {
  readonly secret: string;
  readonly fingerprint: string;
}

export class KeyDigests {
  /** The current one first. */
  readonly #peppers: readonly [Pepper, ...Pepper[]];

  /** New digests are made with the first pepper; all are accepted. */
  constructor([current, ...others]: readonly [string, ...string[]]) {
    this.#peppers = [namedPepper(current), ...others.map(namedPepper)];
  }

  get fingerprints(): readonly string[] {
    return this.#peppers.map((pepper) => pepper.fingerprint);
  }

  /** Made with the current pepper. */
  digestOf(secret: string): KeyDigest {
    const [current] = this.#peppers;
    return { digest: digestWith(current, secret), pepper: current.fingerprint };
  }

  /** Compares in constant time. */
  match(stored: KeyDigest, secret: string): DigestMatch {
    const [current] = this.#peppers;
    for (const pepper of this.#peppers) {
      if (stored.pepper !== pepper.fingerprint) continue;
      const isEqual = timingSafeEqual(Buffer.from(stored.digest), Buffer.from(digestWith(pepper, secret)));
      if (isEqual) return stored.pepper === current.fingerprint ? 'current' : 'outdated';
    }
    return 'wrong';
  }
}

const namedPepper = (secret: string): Pepper => ({ secret, fingerprint: fingerprint(secret, 'key-pepper') });

const digestWith = ({ secret: pepper }: Pepper, secret: string): string =>
  createHmac('sha256', pepper).update(secret).digest('base64url');

const BASE62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 8;
/** 62^43 is just above 2^256. */
const SECRET_LENGTH = 43;
const KEY = new RegExp(`^lehr_[a-z0-9]{1,16}_([A-Za-z0-9]{${ID_LENGTH}})_([A-Za-z0-9]{${SECRET_LENGTH}})$`);

export interface KeyText {
  readonly id: string;
  readonly secret: string;
}

export const isKeyId = (id: string): boolean => /^[A-Za-z0-9]{8}$/.test(id);

export const drawKey = (): KeyText => ({ id: draw(ID_LENGTH), secret: draw(SECRET_LENGTH) });

export const keyPrefix = (env: string, id: string): string => `lehr_${env}_${id}`;

export const writeKey = (env: string, { id, secret }: KeyText): string => `${keyPrefix(env, id)}_${secret}`;

/** Undefined for a text that is not a key. */
export function readKey(text: string): KeyText | undefined {
  const [, id, secret] = KEY.exec(text) ?? [];
  return id === undefined ? undefined : { id, secret };
}

const draw = (length: number): string =>
  Array.from({ length }, () => BASE62[randomInt(BASE62.length)]).join('');

const BATCH = 500;

/** The ids of the stored keys that this process cannot verify, because their digests were made with another pepper; without expired keys. `own`: fingerprints of the peppers of this process; `now` in ms. */
export async function findForeignKeys(
  redis: Redis,
  keys: Keys,
  own: readonly string[],
  now: number,
): Promise<readonly string[]> {
  const foreign: string[] = [];
  const ids = await redis.zrange(keys.apiKeys, '0', '-1');
  for (let start = 0; start < ids.length; start += BATCH) {
    const batch = ids.slice(start, start + BATCH);
    const stored = await Promise.all(batch.map((id) => redis.hmget(keys.apiKey(id), 'pepper', 'expires_at')));
    for (const [i, [pepper, expiresAt]] of stored.entries()) {
      if (!pepper || own.includes(pepper) || (expiresAt && Number(expiresAt) <= now)) continue;
      foreign.push(batch[i]);
    }
  }
  return foreign;
}
