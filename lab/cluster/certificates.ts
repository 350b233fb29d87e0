/** Keys and certificates of one control plane, made with openssl. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority whose files are in one folder. */
export class Authority {
  readonly #folder: string;
  readonly certificate: string;
  readonly #key: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.certificate = join(folder, `${name}.crt`);
    this.#key = join(folder, `${name}.key`);
    const files = ['-keyout', this.#key, '-out', this.certificate];
    openssl('req', '-x509', ...NEW_KEY, ...files, '-days', '2', '-subj', `/CN=${name}`);
  }

  /** A certificate for servers and clients, with these names in it. */
  issue(name: string, hosts: readonly string[] = []): Certificate {
    const path = (kind: string): string => join(this.#folder, `${name}.${kind}`);
    const [certificate, key, request, extensions] = ['crt', 'key', 'csr', 'ext'].map(path);
    const names = ['IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`)].join(',');
    writeFileSync(extensions, `extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${names}\n`);
    openssl('req', ...NEW_KEY, '-keyout', key, '-out', request, '-subj', `/CN=${name}`);
    const signer = ['-CA', this.certificate, '-CAkey', this.#key, '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      ...signer,
      '-out',
      certificate,
      '-days',
      '2',
      '-extfile',
      extensions,
    );
    return { certificate, key };
  }
}

const NEW_KEY = ['-newkey', 'rsa:2048', '-nodes'];

/** A private key for the tokens of service accounts. Returns its path. */
export function privateKey(folder: string, name: string): string {
  const path = join(folder, `${name}.key`);
  openssl('genrsa', '-out', path, '2048');
  return path;
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
