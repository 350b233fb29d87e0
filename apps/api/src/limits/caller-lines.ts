/**
 * In which line a request waits for its turn (active-requests.ts): that of its tenant, so that a tenant gets no more turns with many
 * keys. The tenant must be known before any work, so it is remembered for each key that was accepted. All other requests wait in
 * the line of their address.
 */
import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { TenantId } from '@lehr/shared';

/** The memory is cleared above this. */
const MAX_KEYS = 10_000;
/** A load balancer must get its answer whatever its address is, so each of these paths has a line of its own. */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

export interface LineRequest {
  readonly url?: string | undefined;
  readonly headers: { readonly authorization?: string | undefined };
}

export class CallerLines {
  /** By the digest of the Authorization header: the key itself is not kept in memory. */
  readonly #tenants = new Map<string, TenantId>();

  /** A request with this Authorization header was accepted. */
  remember(authorization: string, tenant: TenantId): void {
    const digest = digestOf(authorization);
    if (this.#tenants.get(digest) === tenant) return;
    if (this.#tenants.size >= MAX_KEYS) this.#tenants.clear();
    this.#tenants.set(digest, tenant);
  }

  /** It was not accepted: who holds a revoked key takes no turns of its tenant. */
  forget(authorization: string): void {
    this.#tenants.delete(digestOf(authorization));
  }

  of({ url = '', headers: { authorization } }: LineRequest, address = 'unknown'): string {
    const tenant = authorization === undefined ? undefined : this.#tenants.get(digestOf(authorization));
    if (tenant !== undefined) return `tenant ${tenant}`;
    const [path] = url.split('?', 1);
    return PROBES.has(path) ? `probe ${path}` : `address ${isIPv6(address) ? networkOf(address) : address}`;
  }
}

const digestOf = (authorization: string): string => hash('sha256', authorization, 'base64');

/** The first 64 bits of an IPv6 address: a caller has all addresses of such a network. */
function networkOf(address: string): string {
  const [head, tail] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail ? Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0') : [];
  const groups = [...head, ...zeros, ...(tail ?? [])].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
