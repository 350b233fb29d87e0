import { expect, test } from 'vitest';
import { prepareSentence } from './sentence-config.ts';

test('Blanks at both ends are those of Python, and blanks inside the text stay', () => {
  const prepare = (text: string): string => prepareSentence(text, { strips: true, lowerCases: false });
  expect(prepare('\u001c\u0085\u00a0\u3000 \n A  B\t\u001f\u2029')).toBe('A  B');
  expect(prepare('\ufeffA\u200b')).toBe('\ufeffA\u200b');
  expect(prepare(' \n ')).toBe('');
});

test('Capitals become small letters only where the model asks for it, the sigma at the end of a word included', () => {
  expect(prepareSentence(' ΟΔΟΣ ', { strips: true, lowerCases: true })).toBe('οδος');
  expect(prepareSentence(' A ', { strips: false, lowerCases: false })).toBe(' A ');
});
