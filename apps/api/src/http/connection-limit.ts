/** How many connections an API process takes, below its limit of file descriptors. */
import { readFileSync } from 'node:fs';

/** Descriptors for Redis, files, webhook deliveries and the operations listener. */
const RESERVED = 1000;

/** `wanted`, or less when the process may open too few files for it. */
export function connectionLimit(wanted: number, descriptors = descriptorLimit()): number {
  return Math.max(1, Math.min(wanted, descriptors - Math.min(RESERVED, Math.floor(descriptors / 2))));
}

/** Infinity where the system does not tell it: Linux has this file. */
function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
