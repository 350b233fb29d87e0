/** What Hono carries with each request: variables that middleware sets and handlers read. */
import type { Caller } from '../auth/authenticator.ts';

export interface ApiEnv {
  Variables: {
    /** Set by `ownHeaders`. */
    requestId: string;
    /** Set by `answerJson`: the answer has all of its headers already. */
    isComplete?: boolean;
    /** Set by `authenticate`. Routes without a key (probes, links, docs) have no caller. */
    caller: Caller;
  };
}
