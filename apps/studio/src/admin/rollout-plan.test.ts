import type { Rollout } from '@lehr/client';
import { expect, test } from 'vitest';
import { actionsOf, canaryShare, changeOf, isOpen, onlyVersion, versionsOf } from './rollout-plan.ts';

const rollout = (state: Rollout['state']): Rollout =>
  ({ id: 'ro_1', state, stable: '1', canary: '2', weight: 30 }) as Rollout;

test('Versions are listed by model, in the order of the list', () => {
  const refs = ['sd@2', 'ears@1', 'sd@1', 'a@b@3'].map((model) => ({ model }));
  expect(versionsOf(refs)).toEqual([
    { name: 'sd', versions: ['2', '1'] },
    { name: 'ears', versions: ['1'] },
    { name: 'a@b', versions: ['3'] },
  ]);
});

test.each([
  ['running', 30, undefined, ['share', 'pause', 'promote', 'rollback'], true],
  ['paused', 0, '1', ['share', 'resume', 'promote', 'rollback'], true],
  ['promoted', 100, '2', ['deploy', 'rollback'], false],
  ['rolled-back', 0, '1', ['deploy'], false],
] as const)(
  'A rollout that is %s says who gets which version, and what can be done',
  (state, share, only, actions, open) => {
    const one = rollout(state);
    expect(canaryShare(one)).toBe(share);
    expect(onlyVersion(one)).toBe(only);
    expect(actionsOf(one)).toEqual(actions);
    expect(isOpen(one)).toBe(open);
  },
);

test('Without a rollout one can be started, and models.yaml decides', () => {
  expect([actionsOf(undefined), onlyVersion(undefined), isOpen(undefined)]).toEqual([
    ['deploy'],
    undefined,
    false,
  ]);
});

test.each([
  ['pause', 'paused'],
  ['resume', 'running'],
  ['promote', 'promoted'],
  ['rollback', 'rolled-back'],
] as const)('The request of "%s" has the state %s and the reason', (action, state) => {
  expect(changeOf(action, 'lunch')).toEqual({ state, reason: 'lunch' });
});
