import type { TenantId } from '@lehr/shared';
import { expect, test } from 'vitest';
import { InputShares, MOST_OF_ALL, MOST_OF_TENANT } from './input-shares.ts';

const tenant = (name: string): TenantId => name as TenantId;

test('A tenant is full with its share of jobs that wait for their input, until one of them has it', () => {
  let freed = 0;
  const inputs = new InputShares(() => {
    freed += 1;
  });
  for (let i = 0; i < MOST_OF_TENANT; i++) inputs.add(tenant('a'));
  inputs.add(tenant('b'));
  expect([inputs.size, inputs.full]).toEqual([MOST_OF_TENANT + 1, ['a']]);
  inputs.remove(tenant('a'));
  expect([inputs.full, freed]).toEqual([[], 1]);
});

test('With the most jobs of all tenants, each tenant that has one is full', () => {
  const inputs = new InputShares(() => {});
  for (let i = 0; i < MOST_OF_ALL; i++) inputs.add(tenant(`t${i % 16}`));
  expect(inputs.full).toHaveLength(16);
});
