import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { tempFolder } from './tiny-models.ts';

/** A certificate of `localhost` and its key, as files. Self-signed, so it is its own authority. */
export async function certificate(): Promise<{ readonly cert: string; readonly key: string }> {
  const folder = await tempFolder('tls');
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
  });
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await Promise.all([writeFile(files.cert, pems.cert), writeFile(files.key, pems.private)]);
  return files;
}
