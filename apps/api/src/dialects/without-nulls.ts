import { z } from '@hono/zod-openapi';

/** An object without its null fields: clients of other APIs send null for an absent field. Other values are unchanged. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

/**
 * The schema of a body that may have unknown fields, and null in place of any field that may be absent: the document says so, and
 * the parsed body has no nulls.
 */
export function nullsAsAbsent<Shape extends z.ZodRawShape>(shape: Shape) {
  const nullable = Object.entries(shape).map(([name, field]) => {
    const schema = field as z.ZodType;
    return [name, schema.isOptional() ? schema.nullable() : schema];
  });
  return z.preprocess(withoutNulls, z.looseObject(Object.fromEntries(nullable) as Shape));
}
