/**
 * Checks at the start that LEHR_KEY_PEPPER and LEHR_SECRET_KEY are those that the data in Redis was made with. Otherwise a process
 * with other values, such as a container that was created again without its folder, would refuse every created key, and no
 * webhook could be signed.
 */
import { join } from 'node:path';
import { findForeignKeys } from './access/auth/key-secrets.ts';
import { registerFingerprints } from './access/fingerprints.ts';
import type { ApiConfig } from './base/env.ts';
import { StartError } from './base/start-error.ts';
import type { ApiParts } from './parts.ts';

const SHOWN = 5;

type Checked = Pick<ApiParts, 'redis' | 'keys' | 'keyStore' | 'webhooks' | 'clock' | 'log'>;

/**
 * Throws StartError when a secret is not the one in use. During a rotation, encrypts webhook secrets again that are encrypted with
 * the second LEHR_SECRET_KEY.
 */
export async function checkSecrets(config: ApiConfig, parts: Checked): Promise<void> {
  await checkPepper(config, parts);
  await checkSecretKey(config, parts);
}

async function checkPepper(config: ApiConfig, parts: Checked): Promise<void> {
  const { redis, keys, keyStore, clock } = parts;
  const own = keyStore.pepperFingerprints;
  const foreign = await findForeignKeys(redis, keys, own, clock.now());
  if (foreign.length > 0) throw otherSecret(config, 'LEHR_KEY_PEPPER', madeWithAnother('API keys', foreign));
  const { isForeign, missing } = await registerFingerprints(redis, keys.keyPeppers, own);
  if (isForeign) throw otherSecret(config, 'LEHR_KEY_PEPPER', IN_USE);
  if (missing.length > 0) await redis.srem(keys.keyPeppers, ...missing);
}

async function checkSecretKey(config: ApiConfig, { redis, keys, webhooks, log }: Checked): Promise<void> {
  const { secrets } = webhooks;
  const found = await registerFingerprints(redis, keys.secretKeys, secrets.keyFingerprints);
  if (found.isForeign) throw otherSecret(config, 'LEHR_SECRET_KEY', IN_USE);
  if (found.isFirst || found.missing.length > 0) {
    const owners = await secrets.unreadable();
    if (owners.length > 0) {
      if (found.isFirst) await redis.del(keys.secretKeys);
      throw otherSecret(config, 'LEHR_SECRET_KEY', madeWithAnother('Webhook secrets of tenants', owners));
    }
    if (found.missing.length > 0) await redis.srem(keys.secretKeys, ...found.missing);
  }
  if (secrets.keyFingerprints.length === 1) return;
  const owners = await secrets.sealAllAgain();
  log.info({ tenants: owners }, 'encrypted webhook secrets again with LEHR_SECRET_KEY');
}

const IN_USE = 'The API that stored the data used another value.';

const madeWithAnother = (what: string, ids: readonly string[]): string =>
  `${what} were made with another value: ${listed(ids)}.`;

const listed = (ids: readonly string[]): string =>
  ids.slice(0, SHOWN).join(', ') + (ids.length > SHOWN ? ` and ${ids.length - SHOWN} more` : '');

const FILES = { LEHR_KEY_PEPPER: 'key-pepper', LEHR_SECRET_KEY: 'secret-key' } as const;

function otherSecret(config: ApiConfig, name: keyof typeof FILES, fact: string): StartError {
  const source =
    config[name] === undefined ? `${name}, read from ${join(config.LEHR_HOME, FILES[name])},` : name;
  return new StartError(
    'misconfigured',
    `${source} is not the one that the data in Redis was made with. ${fact} ` +
      `Set ${name} to the same value for every API process, during a rotation to both values with a comma (docs/operating.md).`,
  );
}
