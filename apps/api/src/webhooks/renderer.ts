import type { Dialect, JobRecord } from '@lehr/shared/records';

/** Renders the webhooks of one dialect. */
export interface Renderer {
  /** The body, sent as JSON; at most about 20 kB, so it has links and no bytes. `record` is as it was at the event. */
  render(record: JobRecord, event: string): Promise<object>;
  /** Whether a failed attempt is retried. */
  retries(event: string): boolean;
}

export type Renderers = Readonly<Partial<Record<Dialect, Renderer>>>;
