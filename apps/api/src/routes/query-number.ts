/** Numbers in query strings. */
import { z } from '@hono/zod-openapi';

/** Refuses a value without a digit, such as an empty one, which `Number` reads as 0. */
export const queryNumber = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((value) => (typeof value === 'string' && !/\d/.test(value) ? Number.NaN : value), schema);
