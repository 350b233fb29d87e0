/** What kind of place an IP address is. The only importer of ipaddr.js. */
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Range = readonly [address: Address, prefixLength: number];

/**
 * Nobody may connect here, whatever an operator allows: this host and its link, groups, and the services of clouds that
 * hand out credentials to whoever asks from inside (AWS, ECS, EKS, GCP, Azure, Alibaba, Oracle).
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

/** The only part of IPv6 that is handed out for the public Internet (RFC 4291, IANA). */
const GLOBAL_IPV6: Range = ipaddr.parseCIDR('2000::/3');

/** IPv6 ranges that carry an IPv4 address, and the byte where it starts (RFC 4291, 2765, 6052, 8215, 3056). */
const CARRIERS: readonly (readonly [Range, number])[] = (
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

/** `10.1.0.0/16`, or one address alone. Undefined when it is neither. */
export function parseRange(text: string): Range | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = parseAddress(text);
  return address && [address, address.kind() === 'ipv4' ? 32 : 128];
}

export const isIn = (address: Address, [network, prefixLength]: Range): boolean =>
  address.kind() === network.kind() && address.match(network, prefixLength);

/** True also for an IPv6 address that carries a forbidden IPv4 one. */
export function isForbidden(address: Address): boolean {
  const carried = carriedIpv4(address);
  return NEVER.some((range) => isIn(address, range) || (carried !== undefined && isIn(carried, range)));
}

/** An ordinary address of the public Internet: neither private nor special, and no tunnel into such. */
export function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast' || isForbidden(address)) return false;
  return address.kind() === 'ipv4' || isIn(address, GLOBAL_IPV6);
}

function carriedIpv4(address: Address): Address | undefined {
  if (address.kind() === 'ipv4' || address.range() === 'loopback') return undefined;
  const carrier = CARRIERS.find(([range]) => isIn(address, range));
  if (!carrier) return undefined;
  return ipaddr.fromByteArray(address.toByteArray().slice(carrier[1], carrier[1] + 4));
}
