/** Reads environment variables by a schema. All faults are collected, so that one message reports them together. */
import type { z } from 'zod';
import { ConfigError } from '../base/config-error.ts';
import { unknownVariables } from './unknown-variables.ts';

export type Source = Readonly<Record<string, string | undefined>>;

export interface ReadVariables<Config> {
  /** The variables without a fault. One that is not set and has no default is present with the value undefined. */
  readonly values: Partial<Config>;
  readonly faults: readonly string[];
}

/**
 * Reads the variables that `schema` names out of `source`; an empty string counts as not set. A variable of Lehr that does
 * not exist is a fault as well. The values of secrets are left out of the faults.
 */
export function readVariables<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  source: Source,
): ReadVariables<z.output<z.ZodObject<Shape>>> {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, field] of Object.entries(schema.shape) as [string, z.ZodType][]) {
    const text = source[name] || undefined;
    const parsed = field.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else
      faults.push(...parsed.error.issues.map(({ message }) => `${name} ${shown(text, field)}: ${message}`));
  }
  faults.push(...unknownVariables(source));
  return { values: values as Partial<z.output<z.ZodObject<Shape>>>, faults };
}

/** As `readVariables`. Throws ConfigError with all faults. */
export function readConfig<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  source: Source,
): z.output<z.ZodObject<Shape>> {
  const { values, faults } = readVariables(schema, source);
  if (faults.length > 0) throw new ConfigError(faults);
  return values as z.output<z.ZodObject<Shape>>;
}

function shown(text: string | undefined, field: z.ZodType): string {
  if (text === undefined) return 'is missing';
  return field.meta()?.secret === true ? 'was refused' : `is ${JSON.stringify(text)}`;
}
