/**
 * Every environment variable that a Lehr process reads, and how it reads them: all faults are collected, so that one message reports them
 * together. The API, the worker, the launcher and the doctor each take the part they need, and the table of docs/settings.md is generated
 * from here (npm run docs).
 */
import { z } from 'zod';
import { editDistance } from '../base/edit-distance.ts';
import { ConfigError } from '../base/errors.ts';
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

export type Source = Readonly<Record<string, string | undefined>>;

interface ReadVariables<Config> {
  /** The variables without a fault. One that is not set and has no default is present with the value undefined. */
  readonly values: Partial<Config>;
  readonly faults: readonly string[];
}

/**
 * Reads the variables that `schema` names out of `source`; an empty string counts as not set. A variable of Lehr that does
 * not exist is a fault as well. The values of secrets are left out of the faults.
 */
export function readVariables<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  source: Source,
): ReadVariables<z.output<z.ZodObject<Shape>>> {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, field] of Object.entries(schema.shape) as [string, z.ZodType][]) {
    const text = source[name] || undefined;
    const parsed = field.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else
      faults.push(...parsed.error.issues.map(({ message }) => `${name} ${shown(text, field)}: ${message}`));
  }
  faults.push(...unknownVariables(source));
  return { values: values as Partial<z.output<z.ZodObject<Shape>>>, faults };
}

/** As `readVariables`. Throws ConfigError with all faults. */
export function readConfig<Shape extends z.core.$ZodLooseShape>(
  schema: z.ZodObject<Shape>,
  source: Source,
): z.output<z.ZodObject<Shape>> {
  const { values, faults } = readVariables(schema, source);
  if (faults.length > 0) throw new ConfigError(faults);
  return values as z.output<z.ZodObject<Shape>>;
}

function shown(text: string | undefined, field: z.ZodType): string {
  if (text === undefined) return 'is missing';
  return field.meta()?.secret === true ? 'was refused' : `is ${JSON.stringify(text)}`;
}

const PREFIX = 'LEHR_';
/**
 * For each service X, Kubernetes sets variables in every container, and a Docker link does the same: X_SERVICE_HOST,
 * X_PORT=tcp://.., X_PORT_8080_TCP_ADDR. A service whose name begins with "lehr" must not be a fault.
 */
const SERVICE_LINK = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP)(_(ADDR|PORT|PROTO))?$/;
const LINK_ADDRESS = /^(tcp|udp):\/\//;
/** With more edits it is another word and not a misspelt one. */
const MAX_EDITS = 3;

/** One fault for each LEHR_ variable of `source` that no program reads. Its value may be a secret and is left out. */
function unknownVariables(source: Readonly<Record<string, string | undefined>>): string[] {
  const known = [...Object.keys(ENV), ...OTHER_VARIABLES];
  return Object.entries(source)
    .filter(([name, value]) => name.startsWith(PREFIX) && value && !known.includes(name))
    .filter(([name, value = '']) => !SERVICE_LINK.test(name) && !LINK_ADDRESS.test(value))
    .map(([name]) => {
      const closest = closestOf(name, known);
      const advice = closest ? `did you mean ${closest}?` : 'docs/settings.md lists those there are.';
      return `${name} is not a variable of Lehr: ${advice}`;
    });
}

/** Undefined when no name comes close: at most half of what follows LEHR_ may differ. */
function closestOf(name: string, known: readonly string[]): string | undefined {
  const allowed = Math.min(MAX_EDITS, (name.length - PREFIX.length) / 2);
  const [closest] = known
    .map((each) => ({ each, edits: editDistance(name, each) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits);
  return closest?.each;
}
