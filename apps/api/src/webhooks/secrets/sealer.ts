/** Encrypts secrets that are stored in Redis: AES-256-GCM under a key that Redis never sees. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { LehrError } from '@lehr/shared';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** The first byte, so that another format can follow. */
const VERSION = 1;

export class Sealer {
  readonly #key: Buffer;

  /** `secretKey` is LEHR_SECRET_KEY; each `purpose` derives its own key from it. */
  constructor(secretKey: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secretKey, 'lehr', purpose, 32));
  }

  /** Returns base64url of version, nonce, ciphertext and tag. It can be opened for the same owner only. */
  seal(text: string, owner: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.from([VERSION]), iv, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Throws `internal` if it was sealed with another key or for another owner, or has been changed. */
  open(sealed: string, owner: string): string {
    const bytes = Buffer.from(sealed, 'base64url');
    try {
      if (bytes[0] !== VERSION) throw new Error(`version ${bytes[0]}, wanted ${VERSION}`);
      const iv = bytes.subarray(1, 1 + IV_BYTES);
      const decipher = createDecipheriv(CIPHER, this.#key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(owner)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = bytes.subarray(1 + IV_BYTES, -TAG_BYTES);
      return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
    } catch (cause) {
      const message = `A secret of ${owner} cannot be decrypted: has LEHR_SECRET_KEY changed?`;
      throw new LehrError('internal', message, { cause });
    }
  }
}
