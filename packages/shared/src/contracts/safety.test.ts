import { expect, test } from 'vitest';
import { safetyModeOf } from './safety.ts';

test('A key may be stricter than its model, and less strict only where the model allows it', () => {
  const marked = { mode: 'mark', keys: 'stricter' } as const;
  expect(safetyModeOf(marked, null)).toBe('mark');
  expect(safetyModeOf(marked, 'refuse')).toBe('refuse');
  expect(safetyModeOf(marked, 'off')).toBe('mark');
  expect(safetyModeOf({ ...marked, keys: 'any' }, 'off')).toBe('off');
  expect(safetyModeOf({ mode: 'off', keys: 'stricter' }, 'blur')).toBe('blur');
});
