/** A key, as a bearer or as the password of Basic authorization. */
export const SECURITY: Record<string, string[]>[] = [{ bearer: [] }, { basic: [] }];
