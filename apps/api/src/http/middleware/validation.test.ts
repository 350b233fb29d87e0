import { z } from '@hono/zod-openapi';
import { expect, test } from 'vitest';
import { bodyRefusal } from './validation.ts';

function detailOf(schema: z.ZodType, body: unknown): string {
  const { error } = schema.safeParse(body);
  if (!error) throw new Error('the body is valid');
  return bodyRefusal(error).message;
}

test('A field of several types is refused with all the types that it may have', () => {
  const schema = z.object({ stop: z.union([z.string(), z.array(z.string()), z.null()]) });
  expect(detailOf(schema, { stop: 5 })).toBe('stop must be a string or a list or null.');
  expect(detailOf(schema, { stop: ['a', 5] })).toContain('stop must be a string or null');
});

test('A body whose kind is unknown is refused with the kinds that it may have', () => {
  const kind = (type: string) => z.object({ type: z.literal(type) });
  const schema = z.discriminatedUnion('type', [kind('picture'), kind('speech')]);
  expect(detailOf(schema, { type: 'film' })).toBe('type must be one of: picture, speech.');
  expect(detailOf(schema, {})).toBe('type must be one of: picture, speech.');
});
