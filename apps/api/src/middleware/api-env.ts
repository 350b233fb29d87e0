/** What Hono carries with each request: variables that middleware sets and handlers read. */
import type { Caller } from '../auth/authenticator.ts';
import type { InlineAudio } from '../bodies/inline-audio.ts';

export interface ApiEnv {
  Variables: {
    /** Set by `ownHeaders`. */
    requestId: string;
    /** Set by `findCallerAddress`; absent only in tests without a connection. */
    address?: string;
    /** Set by `answerJson`: the answer has all of its headers already. */
    isComplete?: boolean;
    /** Set by `authenticate`. Routes without a key (probes, links, docs) have no caller. */
    caller: Caller;
    /** Set by `readBody`: audio that was taken out of a large body, by the numbers of its references. */
    inlineAudio?: readonly InlineAudio[];
  };
}
