/**
 * Follows a job for a view: its state, previews and text as signals. A lost stream is opened again after the last event, until the
 * job has ended or the view stops.
 */
import { isOver, type Job, type JobEvent, LehrError, type Progress } from '@lehr/client';
import { type Signal, signal } from '@preact/signals';
import { lehr, lehrOnce } from '../wire/lehr.ts';
import { pause } from '../wire/pause.ts';
import { Pace } from './pace.ts';

export interface LoggedEvent {
  readonly type: JobEvent['type'];
  readonly timestamp: string;
  readonly note: string;
}

const PLACE_EVERY_MS = 2_000;
export const RECONNECT_MS = 1_500;
const SURELY_OPEN_MS = 3_000;

export class FollowedJob {
  readonly job: Signal<Job>;
  readonly progress: Signal<Progress | null>;
  /** By the number of the picture: `data:` URLs. */
  readonly previews = signal<Readonly<Record<number, string>>>({});
  /** The transcript so far. */
  readonly text = signal('');
  readonly isConnected = signal(true);
  /** Whether following was given up before the job ended: its record is gone, or the session may not read it. */
  readonly isLost = signal(false);
  /** Estimated seconds until the end; undefined while nothing can be said. */
  readonly secondsLeft = signal<number | undefined>(undefined);
  readonly events = signal<readonly LoggedEvent[]>([]);
  /** Resolves with the job when it has ended; with undefined when it was stopped or deleted before. */
  readonly ended: Promise<Job | undefined>;
  readonly #pace = new Pace();
  readonly #stop = new AbortController();

  constructor(job: Job) {
    this.job = signal(job);
    this.progress = signal(job.progress);
    this.ended = this.#follow();
    if (!isOver(job)) void this.#watchPlace();
  }

  stop(): void {
    this.#stop.abort();
  }

  async #follow(): Promise<Job | undefined> {
    const { signal: stopped } = this.#stop;
    let after: string | undefined;
    while (!stopped.aborted) {
      // A stream without news gives no sign that it is open; one that is refused fails at once.
      const open = setTimeout(() => {
        this.isConnected.value = true;
      }, SURELY_OPEN_MS);
      try {
        for await (const event of lehrOnce.stream(this.job.value.id, { after, signal: stopped })) {
          this.isConnected.value = true;
          after = event.id ?? after;
          this.#take(event);
        }
        return isOver(this.job.value) ? this.job.value : this.#giveUp();
      } catch (error) {
        if (stopped.aborted) return undefined;
        if (!mayRecover(error)) return this.#giveUp();
        this.isConnected.value = false;
      } finally {
        clearTimeout(open);
      }
      await pause(RECONNECT_MS, stopped);
    }
    return undefined;
  }

  #giveUp(): undefined {
    this.isLost.value = true;
    this.stop();
  }

  #take(event: JobEvent): void {
    this.#log(event);
    switch (event.type) {
      case 'job.scheduled':
        return;
      case 'job.queued':
        this.job.value = { ...this.job.value, status: 'queued' };
        this.#pace.restart();
        return;
      case 'job.started':
        this.job.value = { ...this.job.value, status: 'running', queue: null };
        this.secondsLeft.value = undefined;
        return;
      case 'job.progress':
        this.progress.value = event.data;
        this.secondsLeft.value = this.#pace.secondsLeft(event.data, Date.parse(event.timestamp));
        return;
      case 'job.preview': {
        const { index, content_type, data } = event.data;
        this.previews.value = { ...this.previews.value, [index]: `data:${content_type};base64,${data}` };
        return;
      }
      case 'job.output':
        this.text.value = this.text.value.slice(0, event.data.offset) + event.data.text;
        return;
      default:
        this.job.value = event.data;
        this.progress.value = null;
    }
  }

  #log(event: JobEvent): void {
    if (event.type === 'job.preview') return;
    const entry = { type: event.type, timestamp: event.timestamp, note: noteOf(event) };
    this.events.value = [...this.events.value, entry];
  }

  /** The place in line is no event: it is asked for while the job waits. */
  async #watchPlace(): Promise<void> {
    const { signal: stopped } = this.#stop;
    while (!stopped.aborted && !isOver(this.job.value)) {
      if (this.job.value.status === 'queued') {
        const asked = await lehr.get(this.job.value.id, { signal: stopped }).catch(() => undefined);
        if (asked?.status === 'queued' && this.job.value.status === 'queued') this.job.value = asked;
        const eta = asked?.queue?.eta_ms;
        if (this.job.value.status === 'queued') {
          this.secondsLeft.value = eta === undefined || eta === null ? undefined : eta / 1000;
        }
      }
      await pause(PLACE_EVERY_MS, stopped);
    }
  }
}

function noteOf(event: JobEvent): string {
  if (event.type === 'job.progress') return `${event.data.stage} ${event.data.step}/${event.data.steps}`;
  if (event.type === 'job.output') return event.data.text;
  return '';
}

/** A job that was deleted and a session that ended do not come back; a lost connection, a restart or a busy server may. */
export function mayRecover(error: unknown): boolean {
  if (!(error instanceof LehrError)) return error instanceof TypeError;
  return error.retryable || error.code === 'connection-failed' || error.code === 'timed-out';
}
