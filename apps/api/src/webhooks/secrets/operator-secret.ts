import type { TenantId } from '@lehr/shared';

/** Owns the webhooks of operators. No tenant can have this name. */
export const OPERATOR = '.operator';

/** Finds the secrets that sign a webhook: those of the tenant, or the configured one for the webhooks of operators. */
export interface SigningSecrets {
  signing(owner: TenantId): Promise<string[]>;
}

/** `operator` is LEHR_OPERATOR_WEBHOOK_SECRET. Its webhooks stay pending while the process that delivers has none. */
export const withOperator = (tenants: SigningSecrets, operator: string | undefined): SigningSecrets => ({
  signing: async (owner) => {
    if (owner !== OPERATOR) return tenants.signing(owner);
    if (operator !== undefined) return [operator];
    throw new Error('LEHR_OPERATOR_WEBHOOK_SECRET is not set in this process, which delivers webhooks');
  },
});
