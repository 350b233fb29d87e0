/** The address of Lehr and the key: from flags, else from the environment, else from the files of `npm start` under LEHR_HOME. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError, EXIT } from './exit-codes.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface SettingFlags {
  readonly url?: string | undefined;
  readonly 'api-key'?: string | undefined;
}

/** Throws CliError when the address is not an http or https URL. */
export function urlOf(flags: SettingFlags, env: Env): string {
  const url = flags.url || env.LEHR_URL || `http://127.0.0.1:${env.LEHR_PORT || 8080}`;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  const from = flags.url ? '--url' : 'LEHR_URL';
  throw new CliError(
    EXIT.config,
    `${from} is ${JSON.stringify(url)}, expected an address such as https://lehr.example`,
  );
}

/** The key under LEHR_HOME belongs to the Lehr of this machine, so it is sent only to this machine. Throws CliError without a key. */
export async function apiKeyOf(flags: SettingFlags, env: Env, url: string): Promise<string> {
  const key = flags['api-key'] || env.LEHR_API_KEY;
  if (key) return key;
  const path = join(homeOf(env), 'api-key');
  if (!isThisMachine(url)) {
    throw new CliError(EXIT.config, `There is no key for ${new URL(url).host}: set LEHR_API_KEY`);
  }
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    const message = `There is no key: set LEHR_API_KEY, or LEHR_HOME to the folder of npm start (${path} cannot be read)`;
    throw new CliError(EXIT.config, message, { cause });
  }
}

export const homeOf = (env: Env): string => env.LEHR_HOME || '.lehr';

const isThisMachine = (url: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(new URL(url).hostname);
