/** The worker's HTTP server, for probes and Prometheus: /healthz, /readyz and /metrics. */
import { createServer, type Server } from 'node:http';

export interface HealthOptions {
  /** Why the worker is not ready; undefined when it is. */
  readonly unreadyReason: () => Promise<string | undefined>;
  /** What a ready worker has to say besides; undefined when nothing. */
  readonly hint?: () => string | undefined;
  /** In the format that the `Accept` header of the request prefers. */
  readonly metrics: (
    accept: string | undefined,
  ) => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Resolves when it listens; port 0 means any free port. */
export async function serveHealth(port: number, host: string, options: HealthOptions): Promise<Server> {
  const server = createServer((request, response) => {
    const respond = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
    };
    switch (request.url) {
      case '/healthz':
        return respond(200, 'ok\n');
      case '/readyz':
        options.unreadyReason().then(
          (reason) => {
            const hint = options.hint?.();
            const text = [reason ?? 'ready', ...(hint === undefined ? [] : [hint])].join('\n');
            respond(reason === undefined ? 200 : 503, `${text}\n`);
          },
          () => respond(500, 'readiness could not be checked\n'),
        );
        return;
      case '/metrics':
        options.metrics(request.headers.accept).then(
          ({ text, contentType }) => respond(200, text, contentType),
          () => respond(500, 'metrics could not be read\n'),
        );
        return;
      default:
        return respond(404, 'not found\n');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}
