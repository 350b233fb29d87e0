import type { Dialect, JobRecord } from '@lehr/shared/records';

/** How webhooks of one dialect look. */
export interface Renderer {
  /** What is sent as JSON, below 20 kB or so: links, never bytes. The record stands as it did at the event. */
  render(record: JobRecord, event: string): Promise<object>;
  /** Whether a failed attempt is followed by others. */
  retries(event: string): boolean;
}

export type Renderers = Readonly<Partial<Record<Dialect, Renderer>>>;
