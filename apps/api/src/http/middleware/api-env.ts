/** What Hono carries with each request: variables that middleware sets and handlers read. */
import type { HttpBindings } from '@hono/node-server';
import type { ErrorCode } from '@lehr/shared';
import type { Span } from '@lehr/shared/tracing';
import type { Caller } from '../../access/auth/authenticator.ts';
import type { InlineAudio } from '../bodies/inline-audio.ts';
import type { ActiveRequest } from '../turns/active-requests.ts';

/** Of requests that come over a connection. */
export interface ConnectionBindings extends HttpBindings {
  /** By `performance.now()`. */
  readonly arrivedAt?: number;
  readonly activeRequest?: ActiveRequest;
  /** In which it waited for its turn. */
  readonly line?: string;
  /** Why the request is refused: it has waited for its turn too long. */
  readonly refusal?: Error | undefined;
}

export interface ApiEnv {
  /** All absent in tests without a connection. */
  Bindings: Partial<ConnectionBindings>;
  Variables: {
    /** Set by `ownHeaders`. */
    requestId: string;
    /** Set by `traceRequests` when the request is traced. */
    span?: Span;
    /** Set by `findCallerAddress`; absent only in tests without a connection. */
    address?: string;
    /** Set by `problemResponse`: the code of the error that is answered. */
    refusal?: ErrorCode;
    /** Set by `answerJson`: the answer has all of its headers already. */
    isComplete?: boolean;
    /** Set by `authenticate`. Routes without a key (probes, links, docs) have no caller. */
    caller: Caller;
    /** Set by `authenticate` when the caller is a browser that is signed in to the studio. */
    isSession?: boolean;
    /** Set by `readBody`: audio that was taken out of a large body, by the numbers of its references. */
    inlineAudio?: readonly InlineAudio[];
  };
}
