/** The worker's own small HTTP surface: /healthz, /readyz and /metrics, for probes and Prometheus. */
import { createServer, type Server } from 'node:http';

export interface HealthOptions {
  readonly isServing: () => boolean;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Resolves when it listens; port 0 takes a free one. */
export async function serveHealth(port: number, host: string, options: HealthOptions): Promise<Server> {
  const server = createServer((request, response) => {
    const answer = (status: number, text: string, type = 'text/plain; charset=utf-8'): void => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
    };
    switch (request.url) {
      case '/healthz':
        return answer(200, 'ok\n');
      case '/readyz':
        return options.isServing() ? answer(200, 'ready\n') : answer(503, 'not serving\n');
      case '/metrics':
        options.metrics().then(
          ({ text, contentType }) => answer(200, text, contentType),
          () => answer(500, 'metrics could not be read\n'),
        );
        return;
      default:
        return answer(404, 'not found\n');
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}
