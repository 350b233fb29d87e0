/** Makes the requests of a listener wait for their turn (turns/active-requests.ts), ahead of the app and all of its work. */
import type { IncomingMessage } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import type { Fetch, OwnerOf } from './listen.ts';
import type { ApiEnv, ConnectionBindings } from './middleware/api-env.ts';
import { callerAddress, isTrustedProxy, plainAddress } from './middleware/caller-address.ts';
import type { ActiveRequest, ActiveRequests } from './turns/active-requests.ts';
import type { CallerLines } from './turns/caller-lines.ts';

type App = (request: Request, bindings: ConnectionBindings) => Response | Promise<Response>;

interface TurnParts {
  readonly activeRequests: ActiveRequests;
  readonly callerLines: CallerLines;
  readonly trustedProxies: readonly string[];
}

/** Of a request that `fairAdmission` has taken: finding a line means hashing a key. In a WeakMap, dead requests would stay until a full collection. */
const LINE = Symbol('line');
type Lined = IncomingMessage & { [LINE]?: string };

/** A request that waits for too long goes to the app as well, which refuses it. */
export function fairAdmission(app: App, { activeRequests, callerLines, trustedProxies }: TurnParts): Fetch {
  const addressOf = callerAddress(trustedProxies);
  return async (request, { incoming, outgoing }) => {
    const line = callerLines.of(incoming, addressOf(incoming));
    (incoming as Lined)[LINE] = line;
    const activeRequest = activeRequests.arrive(line);
    outgoing.on('close', () => activeRequest.hangUp());
    return inTurn(activeRequest, line, (turn) => app(request, { incoming, outgoing, ...turn }));
  };
}

type Turn = Pick<ConnectionBindings, 'arrivedAt' | 'activeRequest' | 'line' | 'refusal'>;

/** Lets the app work on a request that has arrived when it is its turn. */
export async function inTurn(
  activeRequest: ActiveRequest,
  line: string,
  work: (turn: Turn) => Response | Promise<Response>,
): Promise<Response> {
  const arrivedAt = performance.now();
  try {
    const begun = await activeRequest.begin().catch((error: Error) => error);
    // Nobody is there to read an answer.
    if (begun === false) return new Response(null);
    return await work({ arrivedAt, activeRequest, line, refusal: begun === true ? undefined : begun });
  } finally {
    // The answer is sent at the pace of the caller, which is no work.
    activeRequest.end();
  }
}

/** By the line in which its requests wait. A trusted proxy has connections of many callers, so they are of none. */
export function connectionOwner({ callerLines, trustedProxies }: TurnParts): OwnerOf {
  const addressOf = callerAddress(trustedProxies);
  const isProxy = isTrustedProxy(trustedProxies);
  return (socket, incoming) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return undefined;
    if (!incoming) return callerLines.of({ headers: {} }, plainAddress(remoteAddress));
    return (incoming as Lined)[LINE] ?? callerLines.of(incoming, addressOf(incoming));
  };
}

/** Refuses a request that has waited for its turn too long. */
export function refuseLate(): MiddlewareHandler<ApiEnv> {
  return function refuseLate(c, next) {
    const refusal = c.env?.refusal;
    if (refusal) throw refusal;
    return next();
  };
}

/** Waits for something slow: meanwhile the request is not active, so that other requests of its caller get their turn. */
export const inactive = <T>(c: Context<ApiEnv>, wait: Promise<T>): Promise<T> =>
  c.env?.activeRequest?.inactive(wait) ?? wait;
