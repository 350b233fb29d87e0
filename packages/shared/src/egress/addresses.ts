/** Classifies IP addresses, and reads the list of those that the operator allows. The only importer of ipaddr.js. */
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [address: Address, prefixLength: number];

/**
 * Always forbidden, whatever an operator allows: this host and its link, multicast, and the metadata services of clouds, which
 * give credentials to every caller inside (AWS, ECS, EKS, GCP, Azure, Alibaba, Oracle).
 */
const NEVER: readonly Range[] = [
  '0.0.0.0/8',
  '169.254.0.0/16',
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'ff00::/8',
  'fd00:ec2::/32',
  'fd20:ce::/32',
].map((text) => ipaddr.parseCIDR(text));

/** The only part of IPv6 that is assigned to the public Internet (RFC 4291, IANA). */
const GLOBAL_IPV6: Range = ipaddr.parseCIDR('2000::/3');

/** IPv6 ranges that embed an IPv4 address, and the byte where it starts (RFC 4291, 2765, 6052, 8215, 3056). */
const EMBEDDING_RANGES: readonly (readonly [Range, number])[] = (
  [
    ['::/96', 12],
    ['::ffff:0:0/96', 12],
    ['::ffff:0:0:0/96', 12],
    ['64:ff9b::/96', 12],
    ['64:ff9b:1::/48', 12],
    ['2002::/16', 2],
  ] as const
).map(([range, offset]) => [ipaddr.parseCIDR(range), offset]);

/** Four decimal parts or IPv6 without a zone; undefined for anything else, such as a name or the decimal `2130706433`. */
export function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) && !text.includes('%') ? ipaddr.IPv6.parse(text) : undefined;
}

/** Parses `10.1.0.0/16` or a single address; undefined when the text is neither. */
export function parseRange(text: string): Range | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = parseAddress(text);
  return address && [address, address.kind() === 'ipv4' ? 32 : 128];
}

const isIn = (address: Address, [network, prefixLength]: Range): boolean =>
  address.kind() === network.kind() && address.match(network, prefixLength);

/** True also for an IPv6 address that embeds a forbidden IPv4 address. */
export function isForbidden(address: Address): boolean {
  const embedded = embeddedIpv4(address);
  return NEVER.some((range) => isIn(address, range) || (embedded !== undefined && isIn(embedded, range)));
}

/** An ordinary address of the public Internet: neither private nor special, and not tunnelled to such an address. */
export function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || isForbidden(address)) return false;
  return address.kind() === 'ipv4' || isIn(address, GLOBAL_IPV6);
}

function embeddedIpv4(address: Address): Address | undefined {
  if (address.kind() === 'ipv4' || address.range() === 'loopback') return undefined;
  const embedding = EMBEDDING_RANGES.find(([range]) => isIn(address, range));
  if (!embedding) return undefined;
  return ipaddr.fromByteArray(address.toByteArray().slice(embedding[1], embedding[1] + 4));
}

export interface AllowList {
  /** Whether an entry names this host. `name` is in lower case, without a dot at its end. */
  coversHost(name: string): boolean;
  coversAddress(address: Address): boolean;
  /** The entry `*`, for tests and development: all private addresses, any port, and plain http. Forbidden addresses stay forbidden. */
  readonly coversAll: boolean;
  /** Whether an entry is a range or an address; then a host name may be covered once its addresses are known. */
  readonly hasRanges: boolean;
}

const HOST_NAME =
  /^(?=.{1,253}$)(?!.*\.\d+$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;

const ALL = '*';

/** Parses `10.1.0.0/16, hooks.internal`: ranges, addresses, whole host names and `*`. Throws for any other entry. */
export function parseAllowList(text: string): AllowList {
  const hosts = new Set<string>();
  const ranges: Range[] = [];
  const entries = text.split(',').map((each) => each.trim().toLowerCase());
  for (const entry of entries) {
    if (entry === '' || entry === ALL) continue;
    const range = parseRange(entry);
    if (range) ranges.push(range);
    else if (HOST_NAME.test(entry)) hosts.add(entry);
    else throw new Error(`"${entry}" is neither a range like 10.1.0.0/16, an address, nor a host name`);
  }
  return {
    coversHost: (name) => hosts.has(name),
    coversAddress: (address) => ranges.some((range) => isIn(address, range)),
    coversAll: entries.includes(ALL),
    hasRanges: ranges.length > 0,
  };
}
