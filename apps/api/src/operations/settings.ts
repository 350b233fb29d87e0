/** The settings in force, as an operator may read them: never the value of a secret. */
import { ENV, type Setting } from '@lehr/shared';

type Name = keyof typeof ENV;

/** `config` holds the variables that the process read. */
export function settingsOf(config: Readonly<Record<string, unknown>>): readonly Setting[] {
  const names = Object.keys(config).filter((name): name is Name => name in ENV);
  return names.sort().map((name) => {
    const { description = '', secret } = (ENV[name].meta() ?? {}) as {
      description?: string;
      secret?: boolean;
    };
    const value = config[name];
    const is_set = value !== undefined;
    const is_secret = secret === true;
    return { name, value: is_set && !is_secret ? textOf(value) : null, is_set, is_secret, description };
  });
}

const textOf = (value: unknown): string =>
  withoutUser(Array.isArray(value) ? value.join(',') : String(value));

/** The address of a server may have a password before its host; the password may have an @. */
const withoutUser = (text: string): string => text.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1');
