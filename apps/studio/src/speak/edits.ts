/** A transcript with the words that a person has corrected. Pure. */
import type { Job } from '@lehr/client';

/** New texts by the ids of their segments. They stay in the page: the job keeps what was heard. */
export type Edits = Readonly<Record<number, string>>;

/** The job with the corrected texts. The times of single words are left out then: they belong to what was heard. */
export function withEdits(job: Job, edits: Edits): Job {
  const { output } = job;
  const segments = output?.segments;
  if (!segments || Object.keys(edits).length === 0) return job;
  const corrected = segments.map((segment) => ({ ...segment, text: edits[segment.id] ?? segment.text }));
  const text = corrected
    .map((segment) => segment.text.trim())
    .filter((words) => words !== '')
    .join(' ');
  const { words: _, ...kept } = output;
  return { ...job, output: { ...kept, segments: corrected, text } };
}
