import { expect, test } from 'vitest';
import { FillMaskRequestSchema, MAX_TEXTS, TextClassificationRequestSchema } from './text.ts';

test.each([FillMaskRequestSchema, TextClassificationRequestSchema])(
  'The number of texts times top_k is bounded, and the refusal names top_k',
  (schema) => {
    const texts = Array.from({ length: MAX_TEXTS }, () => 'a [MASK]');
    expect(schema.safeParse({ texts }).success).toBe(true);
    expect(schema.safeParse({ texts, top_k: 32 }).success).toBe(true);
    expect(schema.safeParse({ texts: texts.slice(0, 65), top_k: 1000 }).success).toBe(true);
    const { error } = schema.safeParse({ texts, top_k: 33 });
    expect(error?.issues).toMatchObject([
      { path: ['top_k'], message: 'times the number of texts must be at most 65536' },
    ]);
  },
);
