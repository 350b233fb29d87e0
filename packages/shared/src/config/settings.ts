/** The settings of an API or a worker: its variables and its list of models, checked together before anything is opened. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { ConfigError } from '../base/errors.ts';
import { homeModelsFile, homeSecretFault } from '../base/home.ts';
import { type ENV, readVariables, type Source } from './env.ts';
import { type ModelsFile, readModelsFile } from './models-watch.ts';

export interface Settings<Config> {
  readonly config: Config;
  readonly models: ModelsFile;
}

/** The variables that the checks of `readSettings` need. */
type CheckedVariables = Pick<typeof ENV, 'LEHR_HOME' | 'LEHR_MODELS'>;

export interface SettingsOptions<Config> {
  /** The path of models.yaml that is used when LEHR_MODELS is not set and LEHR_HOME has none. */
  readonly defaultModels: string;
  /** Returns the faults that only this program can find. `config` lacks the variables that already have a fault. */
  readonly check: (config: Partial<Config>, models: ModelsFile | undefined) => readonly string[];
}

/** Throws ConfigError with all faults of variables, models file and files of secrets. Writes nothing. */
export async function readSettings<Shape extends z.core.$ZodLooseShape & CheckedVariables>(
  schema: z.ZodObject<Shape>,
  source: Source,
  { defaultModels, check }: SettingsOptions<z.output<z.ZodObject<Shape>>>,
): Promise<Settings<z.output<z.ZodObject<Shape>>>> {
  const { values, faults } = readVariables(schema, source);
  const known = values as Partial<z.output<z.ZodObject<CheckedVariables>>>;
  const models = await readModels(known.LEHR_MODELS, standardModels(known.LEHR_HOME, defaultModels));
  const isFault = typeof models === 'string';
  const all = [
    ...faults,
    ...(isFault ? [models] : []),
    ...check(values, isFault ? undefined : models),
    ...(await secretFaults(values, known.LEHR_HOME)),
  ];
  if (isFault || all.length > 0) throw new ConfigError(all);
  return { config: values as z.output<z.ZodObject<Shape>>, models };
}

function standardModels(home: string | undefined, shipped: string): string {
  const own = home === undefined ? undefined : homeModelsFile(home);
  return own !== undefined && existsSync(own) ? own : shipped;
}

/** The list of models, or what is wrong with it. */
async function readModels(configured: string | undefined, standard: string): Promise<ModelsFile | string> {
  const path = resolve(configured ?? standard);
  try {
    return await readModelsFile(path);
  } catch (error) {
    const name =
      configured === undefined
        ? `The default of LEHR_MODELS, ${JSON.stringify(path)},`
        : `LEHR_MODELS is ${JSON.stringify(configured)}: it`;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return `${name} does not exist`;
    return `${name} cannot be used: ${message}`;
  }
}

/** A secret that is not configured is read from its file under LEHR_HOME, once that exists. */
const SECRET_FILES = {
  LEHR_API_KEY: 'api-key',
  LEHR_KEY_PEPPER: 'key-pepper',
  LEHR_SECRET_KEY: 'secret-key',
  LEHR_STORE_SECRET: 'store-secret',
} as const;

async function secretFaults(values: object, home: string | undefined): Promise<readonly string[]> {
  if (home === undefined) return [];
  const wanted = Object.entries(SECRET_FILES).filter(
    ([name]) => name in values && values[name as keyof typeof values] === undefined,
  );
  const faults = await Promise.all(wanted.map(([, file]) => homeSecretFault(home, file)));
  return faults.filter((fault) => fault !== undefined);
}
