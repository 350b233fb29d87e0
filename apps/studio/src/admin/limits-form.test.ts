import { expect, test } from 'vitest';
import { SHOWN_DEFAULTS } from './limits.ts';
import { changeOf, fieldsOf, LIMIT_NAMES } from './limits-form.ts';

const FIELDS = fieldsOf(SHOWN_DEFAULTS);

test('The form has every limit, and an empty field is no limit', () => {
  expect([...LIMIT_NAMES].sort()).toEqual(Object.keys(SHOWN_DEFAULTS).sort());
  expect(FIELDS).toMatchObject({
    max_jobs: '10000',
    max_queued: '',
    max_priority: 'interactive',
    weight: '1',
  });
});

test('Only what was changed is sent, and nothing when nothing was', () => {
  expect(changeOf(SHOWN_DEFAULTS, FIELDS)).toBeUndefined();
  expect(changeOf(SHOWN_DEFAULTS, { ...FIELDS, max_jobs: ' 10000 ' })).toBeUndefined();
  expect(
    changeOf(SHOWN_DEFAULTS, {
      ...FIELDS,
      max_jobs: '',
      max_queued: '20',
      max_priority: 'bulk',
      weight: '0.5',
    }),
  ).toEqual({ max_jobs: null, max_queued: 20, max_priority: 'bulk', weight: 0.5 });
});
