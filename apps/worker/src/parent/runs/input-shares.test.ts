import type { TenantId } from '@lehr/shared';
import { expect, test } from 'vitest';
import { InputShares, MOST_OF_ALL, MOST_OF_TENANT } from './input-shares.ts';

const priority = 'standard' as const;
const speech = (name: string) => ({ tenant: name as TenantId, queue: 'whisper.ears@1', priority });
const picture = (name: string) => ({ tenant: name as TenantId, queue: 'diffusion.tiny@1.64x64', priority });

test('A tenant is full with its share of jobs that wait for their input, until one of them has it', () => {
  let freed = 0;
  const inputs = new InputShares(() => {
    freed += 1;
  });
  for (let i = 0; i < MOST_OF_TENANT; i++) inputs.add(speech('a'));
  inputs.add(speech('b'));
  expect([inputs.size, inputs.full]).toEqual([MOST_OF_TENANT + 1, ['whisper standard a']]);
  inputs.remove(speech('a'));
  expect([inputs.full, freed]).toEqual([[], 1]);
});

test('Long recordings that wait for their memory do not keep the pictures of their tenant waiting', () => {
  const inputs = new InputShares(() => {});
  for (let i = 0; i < MOST_OF_TENANT; i++) inputs.add(speech('a'));
  for (let i = 1; i < MOST_OF_TENANT; i++) inputs.add(picture('a'));
  expect(inputs.full).toEqual(['whisper standard a']);
  inputs.add(picture('a'));
  expect(inputs.full).toEqual(['whisper standard a', 'diffusion standard a']);
});

test('With the most jobs of all tenants, each tenant that has one is full', () => {
  const inputs = new InputShares(() => {});
  for (let i = 0; i < MOST_OF_ALL; i++) inputs.add(speech(`t${i % 16}`));
  expect(inputs.full).toHaveLength(16);
});

test('Bulk recordings that wait for their memory do not keep the interactive clips of their tenant waiting', () => {
  const inputs = new InputShares(() => {});
  for (let i = 0; i < MOST_OF_ALL; i++) inputs.add({ ...speech('a'), priority: 'bulk' });
  inputs.add({ ...speech('a'), priority: 'interactive' });
  expect(inputs.full).toEqual(['whisper bulk a']);
});
