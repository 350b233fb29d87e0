/** Configuration is read once at start from one schema; every fault is reported in one message. */
import type { z } from 'zod';

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`Configuration is not usable:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
  }
}

/** Marks a variable whose value must never be printed. */
export const SECRET = { secret: true } as const;

/**
 * Parses the variables that `schema` names out of `source` (an empty string counts as absent).
 * Throws ConfigError with every problem at once; the values of secrets are left out of the message.
 */
export function readConfig<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  source: Readonly<Record<string, string | undefined>>,
): z.output<z.ZodObject<Shape>> {
  const given: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = source[name];
    if (value !== undefined && value !== '') given[name] = value;
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    parsed.error.issues.map((issue) => {
      const name = String(issue.path[0] ?? 'configuration');
      const received = given[name];
      const shown =
        received === undefined
          ? 'is missing'
          : isSecret(schema, name)
            ? 'was refused'
            : `is ${JSON.stringify(received)}`;
      return `${name} ${shown}: ${issue.message}`;
    }),
  );
}

function isSecret(schema: z.ZodObject, name: string): boolean {
  const field = schema.shape[name] as z.ZodType | undefined;
  return field?.meta?.()?.secret === true;
}
