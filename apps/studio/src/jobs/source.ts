/**
 * Which result of which job a picture was made larger from. It is kept as labels of the job, because the API does not read back the file
 * that a job began at.
 */
import type { Image, Job } from '@lehr/client';
import { lehr } from '../wire/lehr.ts';

const LABELS = { job: 'studio_job', picture: 'studio_picture', title: 'studio_title' } as const;
/** Characters of a label. */
const MAX_TITLE = 500;

export function sourceLabels(job: Job, image: Image, title: string): Readonly<Record<string, string>> {
  return {
    [LABELS.job]: job.id,
    [LABELS.picture]: image.sha256,
    [LABELS.title]: title.slice(0, MAX_TITLE),
  };
}

export const sourceTitle = ({ metadata }: Pick<Job, 'metadata'>): string | undefined =>
  metadata[LABELS.title];

/** Undefined where the job was made elsewhere, or what it began at is gone. */
export async function sourceOf({ metadata }: Pick<Job, 'metadata'>): Promise<Image | undefined> {
  const id = metadata[LABELS.job];
  const job = id === undefined ? undefined : await lehr.get(id).catch(() => undefined);
  return job?.output?.images?.find(({ sha256 }) => sha256 === metadata[LABELS.picture]);
}
