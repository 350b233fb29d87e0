/** The digests that API keys are stored as: HMAC-SHA256 of the secret under a pepper, which Redis never has. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { fingerprint } from '../fingerprints.ts';

export interface KeyDigest {
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

  /** `other` is accepted during a rotation; new digests are made with `pepper`. */
  constructor(pepper: string, other?: string) {
    this.#peppers = [namedPepper(pepper), ...(other === undefined ? [] : [namedPepper(other)])];
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
