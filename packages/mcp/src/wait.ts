/** Waits for the end of a job, for less time than clients wait for the answer to a call, and tells them meanwhile how much is done. */
import { type Job, type Lehr, LehrError } from '@lehr/client';

/** Turns what a caller names into what a request can hold. */
export interface Files {
  /** `source` is a URL, a data URI, or the id of an uploaded file; where the caller's own files can be read, also a path. */
  reference(source: string, signal: AbortSignal): Promise<string>;
}

export interface Call {
  readonly lehr: Lehr;
  readonly files: Files;
  /** Aborts when the client has cancelled the call or hung up. */
  readonly signal: AbortSignal;
  /** Tells the client how much is done, from 0 to 1; absent when it did not ask. */
  readonly progress: ((fraction: number, message: string) => Promise<void>) | undefined;
}

/** Most clients give a call a minute. */
const WAIT_MS = 45_000;

/** Returns the job when it has ended, or as it is when `waitMs` is over. */
export async function waitForJob(job: Job, call: Call, waitMs = WAIT_MS): Promise<Job> {
  const { lehr, signal } = call;
  if (job.finished_at !== null || waitMs === 0) return job;
  const following = call.progress ? new AbortController() : undefined;
  const followed = following && tellProgress(job.id, call, following.signal);
  try {
    return await lehr.wait(job.id, { timeoutMs: waitMs, signal });
  } catch (error) {
    if (!(error instanceof LehrError) || error.code !== 'timed-out') throw error;
    return await lehr.get(job.id, { signal });
  } finally {
    following?.abort();
    await followed;
  }
}

/** Never rejects: a job whose progress cannot be read, such as at the limit of event streams, has a result all the same. */
async function tellProgress(id: string, { lehr, progress }: Call, signal: AbortSignal): Promise<void> {
  try {
    // The protocol wants it to rise with each message; a second attempt begins again.
    let told = -1;
    for await (const { type, data } of lehr.stream(id, { previews: false, signal })) {
      const fraction = type === 'job.progress' ? data.fraction : 0;
      if (fraction <= told) continue;
      told = fraction;
      await progress?.(
        fraction,
        type === 'job.progress' ? `${data.stage}, ${Math.floor(fraction * 100)} %` : type,
      );
    }
  } catch {}
}
