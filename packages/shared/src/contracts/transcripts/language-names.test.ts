import { expect, test } from 'vitest';
import { LANGUAGE_NAMES } from './language-names.ts';

test('All hundred languages of Whisper have English names', () => {
  expect(Object.keys(LANGUAGE_NAMES)).toHaveLength(100);
  expect(LANGUAGE_NAMES).toMatchObject({ en: 'english', es: 'spanish', yue: 'cantonese', jw: 'javanese' });
});
