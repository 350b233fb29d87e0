/**
 * The tools for agents over HTTP (Model Context Protocol, streamable HTTP without sessions). A tool calls this API inside the process, as
 * its caller: keys, scopes, limits and tenants are those of every other request.
 */
import { Lehr } from '@lehr/client';
import { serveHttp } from '@lehr/mcp';
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import { inactive, inTurn } from '../http/fair-admission.ts';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import type { Api, ApiParts } from '../parts.ts';

export function mcpRoute(app: Api, parts: ApiParts): void {
  app.post('/mcp', async (c) => {
    refuseForeignPage(c, parts.publicUrl);
    const lehr = new Lehr({
      url: parts.publicUrl,
      apiKey: c.req.header('authorization')?.replace(/^Bearer +/i, ''),
      // An agent decides itself whether to call again.
      maxRetries: 0,
      fetch: callsOf(app, parts, c),
    });
    const isJson = c.req.header('content-type')?.startsWith('application/json') ?? false;
    return inactive(c, serveHttp({ lehr }, c.req.raw, isJson ? await c.req.json() : undefined));
  });
}

/**
 * Throws `forbidden` for a request of a page of another site. The Host header of the request is not asked for the own site: a page can
 * lead its own name to this server.
 */
function refuseForeignPage(c: Context<ApiEnv>, publicUrl: string): void {
  const origin = c.req.header('origin');
  if (origin === undefined || origin === new URL(publicUrl).origin) return;
  throw new LehrError('forbidden', 'The tools for agents are not for pages of other sites.');
}

/** Calls of this API stay inside the process, each in its caller's turn; all others are of the object store. */
function callsOf(app: Api, { publicUrl, activeRequests }: ApiParts, c: Context<ApiEnv>): typeof fetch {
  const base = publicUrl.replace(/\/+$/, '');
  const line = c.env?.line ?? c.get('caller').tenant;
  return async (url, init) => {
    if (!String(url).startsWith(`${base}/`)) return fetch(url, init);
    const request = new Request(`http://localhost${String(url).slice(base.length)}`, init);
    return inTurn(activeRequests.arrive(line), line, (turn) => app.fetch(request, turn));
  };
}
