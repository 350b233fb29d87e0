/** Ends the open event streams of keys that were revoked, have expired or lost their scopes. */
import type { Clock, Log } from '@lehr/shared';
import type { Authenticator } from '../auth/authenticator.ts';
import type { Streams } from '../limits/streams.ts';

export interface RevokedParts {
  readonly streams: Streams;
  readonly authenticator: Authenticator;
  readonly clock: Clock;
  readonly log: Log;
}

/** As fast as a new request with a revoked key is refused. */
const EVERY_MS = 1000;

/** Returns a function that stops the checks. */
export function endRevokedStreams(parts: RevokedParts): () => Promise<void> {
  const stop = new AbortController();
  const checking = checkUntil(parts, stop.signal);
  return async () => {
    stop.abort();
    await checking;
  };
}

async function checkUntil(parts: RevokedParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  for (;;) {
    await clock.sleep(EVERY_MS, signal);
    if (signal.aborted) return;
    try {
      await endRevoked(parts);
    } catch (error) {
      log.warn({ error }, 'the keys of open streams could not be checked; trying again');
    }
  }
}

/** One check. */
export async function endRevoked({ streams, authenticator }: RevokedParts): Promise<void> {
  for (const keyId of streams.keyIds) {
    const caller = await authenticator.find(keyId);
    if (!caller?.scopes.has('read') && !caller?.scopes.has('submit')) streams.endAll(keyId);
  }
}
