/** Ends the open event streams of keys that were revoked, have expired or lost the scope of the stream, and of ended sessions. */
import { type Clock, every, type Log } from '@lehr/shared';
import type { Authenticator } from '../access/auth/authenticator.ts';
import type { Streams } from '../http/turns/streams.ts';

export interface RevokedParts {
  readonly streams: Streams;
  readonly authenticator: Authenticator;
  readonly sessions: {
    /** Those of these digests whose sessions have ended. */
    endedOf(keyId: string, digests: ReadonlySet<string>): Promise<ReadonlySet<string>>;
  };
  readonly clock: Clock;
  readonly log: Log;
}

/** As fast as a new request with a revoked key is refused. */
const EVERY_MS = 1000;

/** Returns a function that stops the checks. */
export const endRevokedStreams = (parts: RevokedParts): (() => Promise<void>) =>
  every(EVERY_MS, () => endRevoked(parts), {
    ...parts,
    failed: 'the keys of open streams could not be checked; trying again',
  });

/** One check. A key that cannot be read keeps its streams until the next check, and the other keys are checked. */
export async function endRevoked({ streams, authenticator, sessions, log }: RevokedParts): Promise<void> {
  for (const key of streams.keyIds) {
    try {
      const caller = await authenticator.find(key);
      streams.endWithout(key, caller?.scopes ?? new Set());
      streams.endSessions(key, await sessions.endedOf(key, streams.sessionsOf(key)));
    } catch (error) {
      log.warn({ error, key }, 'the key of open streams could not be checked; trying again');
    }
  }
}
