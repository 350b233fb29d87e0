/** The arguments of the program, which `lehr fleet` and `npm start` pass as JSON. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { ConfigError } from '@lehr/shared';
import { z } from 'zod';
import type { WorkerSpec } from './fleet.ts';

export const FleetArgumentsSchema = z.strictObject({
  /** The address of Lehr. */
  url: z.string(),
  pool: z.string().default('all'),
  /** `auto`: as many as the pool should have. */
  workers: z.union([z.literal('auto'), z.int().positive()]).default('auto'),
  /** Values for CUDA_VISIBLE_DEVICES; one worker for each. */
  cards: z.array(z.string().min(1)).min(1).optional(),
  /** The most workers on this machine, without cards. */
  max: z.int().positive().default(4),
  /** The first worker serves its metrics on this port, the next on the one after it. 0: any ports. */
  firstPort: z.int().nonnegative().default(0),
  /** A file of variables for the workers, read again when the fleet rolls. */
  envFile: z.string().optional(),
  /** The program of a worker and its arguments. */
  command: z.array(z.string()).min(1).optional(),
});
export type FleetArguments = z.output<typeof FleetArgumentsSchema>;

const WORKER = fileURLToPath(new URL('../../main.js', import.meta.url));

/** Throws ConfigError when the file of variables cannot be read. */
export function readSpec(
  { command = [process.execPath, WORKER], envFile }: FleetArguments,
  env: Readonly<Record<string, string | undefined>>,
): WorkerSpec {
  // The fleet asks the API; its workers do not.
  const { LEHR_API_KEY: _key, ...rest } = env;
  return { command, env: { ...rest, ...variablesIn(envFile) } };
}

function variablesIn(path: string | undefined): Readonly<Record<string, string | undefined>> {
  if (path === undefined) return {};
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new ConfigError([`--env-file ${JSON.stringify(path)} cannot be read: ${(cause as Error).message}`]);
  }
}

/** The card of the slot, and its port: a worker beside another one of the slot takes any port. */
export function slotVariables(
  { cards, firstPort }: FleetArguments,
  slot: number,
  isAlone: boolean,
): Readonly<Record<string, string>> {
  const port = firstPort > 0 && isAlone ? firstPort + slot : 0;
  return { LEHR_WORKER_PORT: `${port}`, ...(cards && { CUDA_VISIBLE_DEVICES: cards[slot] }) };
}
