/**
 * Every environment variable that a Lehr process reads. The API, the worker, the launcher and the doctor each take the
 * part they need, and the table of docs/settings.md is generated from here (npm run docs).
 */
import { z } from 'zod';
import { API_ENV } from './variables/api.ts';
import { COMMON_ENV, STORE_ENV } from './variables/every-program.ts';
import { WORKER_ENV } from './variables/worker.ts';

export const ENV = { ...COMMON_ENV, ...API_ENV, ...STORE_ENV, ...WORKER_ENV } as const;

/**
 * Variables of Lehr's other programs, which an API or a worker may find in its environment: LEHR_URL is read by the client
 * and the command `lehr`, the others by the tests.
 */
export const OTHER_VARIABLES: readonly string[] = [
  'LEHR_URL',
  'LEHR_PICTURE_SIZE',
  'LEHR_TEST_MARK',
  'LEHR_TEST_S3',
];

/** A schema of the named variables, for readConfig. */
export function envSchema<Name extends keyof typeof ENV>(
  ...names: readonly Name[]
): z.ZodObject<Pick<typeof ENV, Name>> {
  return z.object(Object.fromEntries(names.map((name) => [name, ENV[name]])) as Pick<typeof ENV, Name>);
}
