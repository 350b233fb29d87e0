/** Encrypts secrets that are stored in Redis: AES-256-GCM under a key that Redis never sees. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { LehrError } from '@lehr/shared';
import { fingerprint } from '../../access/fingerprints.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The first byte, so that another format can follow. */
const VERSION = 1;

export interface Opened {
  readonly text: string;
  /** It was sealed with an earlier key, and should be sealed again. */
  readonly isOutdated: boolean;
}

export class Sealer {
  readonly fingerprints: readonly string[];
  /** The current one first. */
  readonly #keys: readonly [Buffer, ...Buffer[]];

  /**
   * `secretKeys` is LEHR_SECRET_KEY; each `purpose` derives its own keys from it. The first one seals, and what was sealed with
   * another one can be opened as well.
   */
  constructor(secretKeys: readonly [string, ...string[]], purpose: string) {
    const derive = (key: string) => Buffer.from(hkdfSync('sha256', key, 'lehr', purpose, 32));
    const [current, ...others] = secretKeys;
    this.#keys = [derive(current), ...others.map(derive)];
    this.fingerprints = secretKeys.map((key) => fingerprint(key, 'secret-key'));
  }

  /** Returns base64url of version, nonce, ciphertext and tag. It can be opened for the same owner only. */
  seal(text: string, owner: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys[0], iv).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.from([VERSION]), iv, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Throws `internal` if it was sealed with an unknown key or for another owner, or has been changed. */
  open(sealed: string, owner: string): Opened {
    const bytes = Buffer.from(sealed, 'base64url');
    let cause: unknown;
    for (const [i, key] of this.#keys.entries()) {
      try {
        return { text: openWith(key, bytes, owner), isOutdated: i > 0 };
      } catch (error) {
        cause = error;
      }
    }
    const message = `A secret of ${owner} cannot be decrypted: has LEHR_SECRET_KEY changed?`;
    throw new LehrError('internal', message, { cause });
  }
}

function openWith(key: Buffer, bytes: Buffer, owner: string): string {
  if (bytes[0] !== VERSION) throw new Error(`version ${bytes[0]}, wanted ${VERSION}`);
  const iv = bytes.subarray(1, 1 + IV_BYTES);
  const decipher = createDecipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = bytes.subarray(1 + IV_BYTES, -TAG_BYTES);
  return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
}
