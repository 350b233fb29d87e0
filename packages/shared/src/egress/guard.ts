/** The rules for addresses that callers choose: which URLs are allowed, and which of their addresses. */
import { type Address, type AllowList, isForbidden, isPublic, parseAddress } from './addresses.ts';

export interface Target {
  readonly url: URL;
  /** Host without the brackets of IPv6. */
  readonly host: string;
  /** Set when the host is an address itself. */
  readonly literal: Address | undefined;
  /** The operator's allow-list covers this host. */
  readonly trusted: boolean;
}

const MAX_URL_LENGTH = 2048;

export class Guard {
  readonly #allow: AllowList;

  constructor(allow: AllowList) {
    this.#allow = allow;
  }

  /**
   * Checks everything that needs no DNS lookup. `URL` has already turned the many ways to write an IPv4 address (decimal,
   * octal, hexadecimal, short) into one. Throws EgressError `refused`.
   */
  target(text: string): Target {
    if (text.length > MAX_URL_LENGTH || !URL.canParse(text)) throw refused('is not a URL');
    const url = new URL(text);
    const allow = this.#allow;
    if (url.username !== '' || url.password !== '') throw refused('user and password');
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (host === '') throw refused('no host');
    const literal = parseAddress(host);
    const trusted = literal ? allow.coversAddress(literal) : allow.coversHost(nameOf(host));
    const isLocal = literal ? literal.range() === 'loopback' : isLocalName(nameOf(host));
    // Plain http is allowed where it does not leave this machine.
    const mayUseHttp = allow.coversAll || (trusted && isLocal);
    if (url.protocol !== 'https:' && !(mayUseHttp && url.protocol === 'http:')) throw refused('scheme');
    const target = { url, host, literal, trusted };
    if (!this.#mayUsePort(target) && (literal || !allow.hasRanges)) throw refused('port');
    if (!literal && isLocal && !trusted && !allow.coversAll) throw refused('local name');
    if (literal) this.check(target, [host]);
    return target;
  }

  /** Throws EgressError `refused` unless all addresses are allowed, because the connection may use any of them. */
  check(target: Target, addresses: readonly string[]): void {
    if (addresses.length === 0) throw refused('no address');
    for (const text of addresses) {
      const address = parseAddress(text);
      if (!address || !this.#permits(target, address)) throw refused(`address ${text}`);
      if (!this.#mayUsePort(target) && !this.#allow.coversAddress(address)) throw refused('port');
    }
  }

  #mayUsePort({ url, trusted }: Target): boolean {
    // `URL` leaves the default port of the scheme empty.
    return trusted || this.#allow.coversAll || url.port === '';
  }

  #permits({ trusted }: Target, address: Address): boolean {
    if (isForbidden(address)) return false;
    const { coversAll } = this.#allow;
    return isPublic(address) || coversAll || trusted || this.#allow.coversAddress(address);
  }
}

const refused = (why: string): EgressError => new EgressError('refused', new Error(why));

const nameOf = (host: string): string => host.toLowerCase().replace(/\.$/, '');
/** Loopback by definition (RFC 6761), whatever a name server answers. */
const isLocalName = (name: string): boolean => name === 'localhost' || name.endsWith('.localhost');

/** The advice of every refusal of an address. */
export const PRIVATE_HOSTS = 'LEHR_EGRESS_ALLOW names the private hosts that are allowed';

/** Why a request to a caller's address failed. */
const MESSAGES = {
  /** Forbidden by the rules, or the name has no address. One text for both, so that it reveals nothing about the network. */
  refused: `Lehr does not connect to this address; ${PRIVATE_HOSTS}.`,
  /** The connection or its TLS failed, or it broke. */
  unreachable: 'The connection failed.',
  timeout: 'There was no complete answer in time.',
  'too-large': 'The answer is larger than allowed.',
} as const;

export type EgressFault = keyof typeof MESSAGES;

/** The message reveals only the kind of fault; `cause` has the details, for Lehr's log. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly fault: EgressFault;

  constructor(fault: EgressFault, cause?: unknown) {
    super(MESSAGES[fault], { cause });
    this.fault = fault;
  }
}
