/** Saves the results of jobs as one zip file. Loaded when it is used. */
import { type Job, LehrError } from '@lehr/client';
import { downloadZip } from 'client-zip';
import { isKnownGone } from '../parts/picture.tsx';
import { texts } from '../texts/index.ts';
import { lehr } from '../wire/lehr.ts';
import { textResults } from './text-results.ts';

interface ZipEntry {
  readonly name: string;
  readonly input: string | Uint8Array;
  readonly lastModified: Date;
}

export interface Zip {
  readonly blob: Blob;
  /** Outputs that have expired and are not in it. */
  readonly missing: number;
}

/** `onJob` is called before each job. Rejects when the API or the store fails. */
export async function zipOf(jobs: readonly Job[], onJob: (done: number) => void): Promise<Zip> {
  const state = { missing: 0 };
  const blob = await downloadZip(entriesOf(jobs, state, onJob)).blob();
  return { blob, missing: state.missing };
}

/** One job after the other, so that few of them are in memory. */
async function* entriesOf(
  jobs: readonly Job[],
  state: { missing: number },
  onJob: (done: number) => void,
): AsyncGenerator<ZipEntry> {
  const list: object[] = [];
  for (const [done, listed] of jobs.entries()) {
    onJob(done);
    // Anew: the links of the list may have expired, and it leaves out long results.
    const job = await ifThere(() => lehr.get(listed.id));
    if (!job) {
      state.missing += 1;
      continue;
    }
    list.push(factsOf(job));
    const lastModified = new Date(job.finished_at ?? job.created_at);
    for (const [i, image] of (job.output?.images ?? []).entries()) {
      const input = isKnownGone(image.url) ? undefined : await ifThere(() => lehr.download(image));
      if (!input) state.missing += 1;
      else yield { name: nameOf(job, i, image.content_type), input, lastModified };
    }
    const words = wordsOf(job);
    if (words !== '') yield { name: `${job.id}.txt`, input: words, lastModified };
  }
  const input = JSON.stringify(list, null, 2);
  yield { name: texts.gallery.zip.list, input, lastModified: new Date() };
}

/** Undefined for what is there no more. */
async function ifThere<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof LehrError && (error.code === 'not-found' || error.code === 'gone')) return undefined;
    throw error;
  }
}

const factsOf = ({ id, type, model, status, created_at, input, metadata }: Job): object => ({
  id,
  type,
  model,
  status,
  created_at,
  input,
  metadata,
});

const nameOf = ({ id }: Job, index: number, contentType: string): string =>
  `${id}${index === 0 ? '' : `-${index + 1}`}.${contentType.split('/')[1]}`;

const wordsOf = (job: Job): string => job.output?.text ?? textResults(job).join('\n');
