/** Secrets as they are kept in Redis: AES-256-GCM under a key that Redis never sees. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { LehrError } from '@lehr/shared';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Stands first, so that another way of sealing can follow. */
const VERSION = 1;

export class Sealer {
  readonly #key: Buffer;

  /** `secretKey` is LEHR_SECRET_KEY; another `purpose` makes another key of it. */
  constructor(secretKey: string, purpose: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secretKey, 'lehr', purpose, 32));
  }

  /** Base64url of version, nonce, text and tag. It opens for the same owner only: moving it to another breaks it. */
  seal(text: string, owner: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, iv).setAAD(Buffer.from(owner));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.from([VERSION]), iv, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Throws `internal` for what was sealed with another key, for another owner, or changed since. */
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
      const message = `A secret of ${owner} does not open: is LEHR_SECRET_KEY the one it was sealed with?`;
      throw new LehrError('internal', message, { cause });
    }
  }
}
