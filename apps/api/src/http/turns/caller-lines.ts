/**
 * In which line a request waits for its turn (active-requests.ts): that of its tenant, so that a tenant gets no more turns with many
 * keys. The tenant must be known before any work, so it is remembered for each key that was accepted. All other requests wait in
 * the line of their address.
 */
import { hash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import type { TenantId } from '@lehr/shared';
import { basicKey, bearerKey } from '../../access/auth/authenticator.ts';

/** Above this, the key that was remembered first is forgotten; its next request waits in the line of its address. */
const MAX_KEYS = 10_000;
/**
 * A load balancer must get its answer. Each of these paths has a line for each address: other requests from the same address do not
 * delay its probes, and probes from other addresses do not either.
 */
const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

export interface LineRequest {
  readonly url?: string | undefined;
  readonly headers: { readonly authorization?: string | undefined };
}

export class CallerLines {
  /** By the digest of the key: the key itself is not kept in memory. In the order in which they were remembered. */
  readonly #tenants = new Map<string, TenantId>();

  /** A request with this Authorization header was accepted. `line`: where it waited for its turn. */
  remember(authorization: string, tenant: TenantId, line?: string): void {
    if (line === lineOf(tenant)) return;
    const digest = digestOf(authorization);
    if (digest === undefined || this.#tenants.get(digest) === tenant) return;
    if (this.#tenants.size >= MAX_KEYS) {
      const [oldest] = this.#tenants.keys();
      this.#tenants.delete(oldest);
    }
    this.#tenants.set(digest, tenant);
  }

  /** It was not accepted: who holds a revoked key takes no turns of its tenant. */
  forget(authorization: string): void {
    const digest = digestOf(authorization);
    if (digest !== undefined) this.#tenants.delete(digest);
  }

  of({ url = '', headers: { authorization } }: LineRequest, address = 'unknown'): string {
    const digest = digestOf(authorization);
    const tenant = digest === undefined ? undefined : this.#tenants.get(digest);
    if (tenant !== undefined) return lineOf(tenant);
    const [path] = url.split('?', 1);
    const origin = `address ${isIPv6(address) ? networkOf(address) : address}`;
    return PROBES.has(path) ? `probe ${path} ${origin}` : origin;
  }
}

const lineOf = (tenant: TenantId): string => `tenant ${tenant}`;

/** Of the key and not of the header, which a caller can write in many ways. */
function digestOf(authorization: string | undefined): string | undefined {
  const key = bearerKey(authorization) ?? basicKey(authorization ?? '');
  return key === undefined ? undefined : hash('sha256', key, 'base64');
}

/** The first 64 bits of an IPv6 address: a caller has all addresses of such a network. */
function networkOf(address: string): string {
  const [head, tail] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail ? Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => '0') : [];
  const groups = [...head, ...zeros, ...(tail ?? [])].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}
