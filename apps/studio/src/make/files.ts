/** Files of pictures: those of results are read, those of the form are sent. */
import type { Image, Job } from '@lehr/client';
import { lehr } from '../wire/lehr.ts';

/** The file of an output, whose link may have expired since the list was read. */
export async function fileOf(job: Job, image: Image): Promise<Blob> {
  const fresh = Date.parse(image.expires_at) < Date.now() ? await lehr.get(job.id) : job;
  const now = fresh.output?.images?.find(({ sha256 }) => sha256 === image.sha256) ?? image;
  const bytes = await lehr.download(now);
  return new Blob([bytes as BlobPart], { type: image.content_type });
}

/** Uploads, so that the same file is sent once. */
const sent = new WeakMap<Blob, { readonly id: string; readonly expires: number }>();
const SPARE_MS = 10 * 60_000;

export async function send(file: Blob, name: string): Promise<string> {
  const earlier = sent.get(file);
  if (earlier && earlier.expires - SPARE_MS > Date.now()) return earlier.id;
  const { id, expires_at } = await lehr.upload(file, { name });
  sent.set(file, { id, expires: Date.parse(expires_at) });
  return id;
}
