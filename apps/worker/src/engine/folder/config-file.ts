/** Reads the JSON and text files of a model folder. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { LehrError } from '@lehr/shared';
import type { z } from 'zod';

/** Throws LehrError `model-unavailable` that names the file and each wrong field. */
export async function readConfigFile<Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const parsed = schema.safeParse(await readJson(path));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`,
  );
  throw new LehrError('model-unavailable', `${path} is not what Lehr expects (${problems.join('; ')}).`, {
    cause: parsed.error,
  });
}

/** As readConfigFile; a missing file reads as `{}`. */
export const readOptionalConfig = async <Schema extends z.ZodType>(
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> => (existsSync(path) ? await readConfigFile(path, schema) : schema.parse({}));

async function readJson(path: string): Promise<unknown> {
  const text = await readModelText(path);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new LehrError('model-unavailable', `${path} is not JSON.`, { cause });
  }
}

export async function readModelText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const isFile = (cause as NodeJS.ErrnoException).code === 'ENOTDIR';
    const message = isFile
      ? `${dirname(path)} is a file; a model is a folder with its configs and graphs.`
      : `${path} could not be read.`;
    throw new LehrError('model-unavailable', message, { cause });
  }
}
