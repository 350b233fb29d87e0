/** The operator's allow-list: hosts and ranges that requests may go to although they are not public. */
import { type Address, isIn, parseRange, type Range } from './addresses.ts';

export interface AllowList {
  /** Whether an entry names this host. `name` is in lower case, without a dot at its end. */
  coversHost(name: string): boolean;
  coversAddress(address: Address): boolean;
  /** Whether an entry is a range or an address; then a host name may be covered once its addresses are known. */
  readonly hasRanges: boolean;
}

const HOST_NAME =
  /^(?=.{1,253}$)(?!.*\.\d+$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;

/** Parses `10.1.0.0/16, hooks.internal`: ranges, addresses and whole host names. Throws for any other entry. */
export function parseAllowList(text: string): AllowList {
  const hosts = new Set<string>();
  const ranges: Range[] = [];
  for (const entry of text.split(',').map((each) => each.trim().toLowerCase())) {
    if (entry === '') continue;
    const range = parseRange(entry);
    if (range) ranges.push(range);
    else if (HOST_NAME.test(entry)) hosts.add(entry);
    else throw new Error(`"${entry}" is neither a range like 10.1.0.0/16, an address, nor a host name`);
  }
  return {
    coversHost: (name) => hosts.has(name),
    coversAddress: (address) => ranges.some((range) => isIn(address, range)),
    hasRanges: ranges.length > 0,
  };
}
