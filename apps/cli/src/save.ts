/** Saves a job's outputs as files. */

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, extname, join } from 'node:path';
import type { Image, Job, Lehr } from '@lehr/client';
import { CliError, EXIT } from './exit-codes.ts';

/**
 * Saves a job's pictures and returns their paths. A `target` that ends in a slash is a folder, in which the files are named after
 * the job. Any other `target` is the path of the first picture; the others get a number before the extension. Throws CliError when
 * a file cannot be written.
 */
export async function savePictures(
  lehr: Lehr,
  job: Job,
  target: string,
  signal: AbortSignal,
): Promise<string[]> {
  const images = job.output?.images ?? [];
  const paths = images.map((image, i) => pathOf(target, job, image, i));
  for (const [i, image] of images.entries()) {
    const bytes = await lehr.download(image, { signal });
    await writeOutput(paths[i], bytes);
  }
  return paths;
}

function pathOf(target: string, { id }: Job, { content_type }: Image, index: number): string {
  const number = index === 0 ? '' : `-${index + 1}`;
  if (target.endsWith('/')) return join(target, `${id}${number}.${content_type.split('/').pop()}`);
  const extension = extname(target);
  return `${target.slice(0, target.length - extension.length)}${number}${extension}`;
}

export async function writeOutput(path: string, data: string | Uint8Array): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, data);
  } catch (cause) {
    throw new CliError(EXIT.noOutput, `${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}
