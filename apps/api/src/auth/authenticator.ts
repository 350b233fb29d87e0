/** Who is calling: the port that the one configured key fills today. */
import type { TenantId } from '@lehr/shared';

export const SCOPES = ['submit', 'read', 'cancel', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Caller {
  /** Jobs are read and changed by (tenant, id); nobody sees another tenant's. */
  readonly tenant: TenantId;
  readonly scopes: ReadonlySet<Scope>;
}

export interface Authenticator {
  /** The caller that this key stands for; undefined for a key nobody has. */
  authenticate(key: string): Promise<Caller | undefined>;
}
