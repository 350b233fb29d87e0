/** Serves the tools over the Model Context Protocol, to clients of its versions of 2025 and 2026. */
import { readFileSync } from 'node:fs';
import type { Lehr } from '@lehr/client';
import { createMcpHandler, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { serveStdio as serve } from '@modelcontextprotocol/server/stdio';
import { errorResult } from './results.ts';
import { TOOLS } from './tools.ts';
import type { Call, Files } from './wait.ts';

export interface ServerOptions {
  /** Makes all calls; with the key of the caller. */
  readonly lehr: Lehr;
  /** How pictures and recordings that are named by a caller get into a request. Absent: as they are named. */
  readonly files?: Files | undefined;
}

/** That of the package, which a release writes. */
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const INSTRUCTIONS =
  'Lehr draws and edits pictures, transcribes recordings and embeds texts on a fleet of GPU workers. A call that takes long returns the id ' +
  'of its job: call `status` with it until the job has ended. `models` lists the models and what they are for.';

function newServer({ lehr, files = { reference: async (source) => source } }: ServerOptions): McpServer {
  const server = new McpServer({ name: 'lehr', version }, { instructions: INSTRUCTIONS });
  for (const { name, title, description, input, isReadOnly, run } of TOOLS) {
    const annotations = {
      title,
      readOnlyHint: isReadOnly,
      destructiveHint: name === 'cancel',
      openWorldHint: false,
    };
    server.registerTool(name, { title, description, inputSchema: input, annotations }, (given, context) => {
      const call: Call = { lehr, files, signal: context.mcpReq.signal, progress: progressOf(context) };
      return run(given, call).catch((error) => errorResult(error));
    });
  }
  return server;
}

/** Undefined when the client did not ask for progress. */
function progressOf({ mcpReq }: ServerContext): Call['progress'] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return async (progress, message) => {
    const params = { progressToken, progress, total: 1, message };
    await mcpReq.notify({ method: 'notifications/progress', params });
  };
}

/**
 * Answers one request over HTTP. `body` is its parsed JSON. No session is kept, so any process can answer the next one. When the client
 * hangs up, the call ends; its job does not.
 */
export async function serveHttp(options: ServerOptions, request: Request, body: unknown): Promise<Response> {
  // The tools never change, so there is nothing to subscribe to; such a stream would stay open.
  const handler = createMcpHandler(() => newServer(options), { maxSubscriptions: 0 });
  return handler.fetch(request, { parsedBody: body });
}

/** Serves over standard input and output until the input ends or the signal is aborted. */
export async function serveStdio(options: ServerOptions, signal: AbortSignal): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const handle = serve(() => newServer(options));
  if (!signal.aborted) await ended;
  await handle.close();
}
