import { expect } from 'vitest';
import { ENV, envSchema, readConfig } from '../../packages/shared/src/index.ts';

/** Expects that all variables exist and have valid values. */
export function expectUsable(variables: Readonly<Record<string, string>>): void {
  const names = Object.keys(variables) as (keyof typeof ENV)[];
  for (const name of names) expect(Object.keys(ENV)).toContain(name);
  expect(Object.keys(readConfig(envSchema(...names), variables)).sort()).toEqual(names.sort());
}
