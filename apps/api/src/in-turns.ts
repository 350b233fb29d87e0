/** Makes the requests of a listener wait for their turn, ahead of the app and all of its work. */
import type { ActiveRequests } from './limits/active-requests.ts';
import type { CallerLines } from './limits/caller-lines.ts';
import type { Fetch } from './listen.ts';
import type { ConnectionBindings } from './middleware/api-env.ts';
import { callerAddress } from './middleware/caller-address.ts';

type App = (request: Request, bindings: ConnectionBindings) => Response | Promise<Response>;

export interface TurnParts {
  readonly activeRequests: ActiveRequests;
  readonly callerLines: CallerLines;
  readonly trustedProxies: readonly string[];
}

/** A request that waits for too long goes to the app as well, which refuses it. */
export function inTurns(app: App, { activeRequests, callerLines, trustedProxies }: TurnParts): Fetch {
  const addressOf = callerAddress(trustedProxies);
  return async (request, { incoming, outgoing }) => {
    const arrivedAt = performance.now();
    const activeRequest = activeRequests.arrive(callerLines.of(incoming, addressOf(incoming)));
    outgoing.once('close', () => activeRequest.hangUp());
    try {
      const begun = await activeRequest.begin().catch((error: Error) => error);
      // Nobody is there to read an answer.
      if (begun === false) return new Response(null);
      const refusal = begun === true ? undefined : begun;
      return await app(request, { incoming, outgoing, arrivedAt, activeRequest, refusal });
    } finally {
      // The answer is sent at the pace of the caller, which is no work.
      activeRequest.end();
    }
  };
}
