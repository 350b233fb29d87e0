/** Resolves host names to addresses. */
import { lookup, Resolver } from 'node:dns/promises';

/** All addresses of a name; rejects when there is none. `trusted`: the name is in the operator's allow-list. */
export type Resolve = (name: string, trusted: boolean, signal: AbortSignal) => Promise<readonly string[]>;

const QUERY_TIMEOUT_MS = 2000;
const TRIES = 2;

/**
 * Trusted names use the system's lookup, /etc/hosts included. All other names are sent to the name servers directly, because
 * the system's lookup would block one of Node's four threads for as long as a hostile name server wants. `servers` replaces
 * the name servers of the system.
 */
export function systemResolve(servers?: readonly string[]): Resolve {
  return async (name, trusted, signal) => {
    if (trusted) return (await lookup(name, { all: true })).map(({ address }) => address);
    const resolver = new Resolver({ timeout: QUERY_TIMEOUT_MS, tries: TRIES });
    if (servers) resolver.setServers(servers);
    const cancel = (): void => resolver.cancel();
    signal.addEventListener('abort', cancel);
    try {
      return await bothFamilies(resolver, name);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  };
}

/** One address family is enough: many hosts have only one, and some name servers answer with an error instead of "none". */
async function bothFamilies(resolver: Resolver, name: string): Promise<string[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  if (addresses.length > 0) return addresses;
  throw answers.find((answer) => answer.status === 'rejected')?.reason ?? new Error(`${name} has no address`);
}
