/** An HTTP proxy for programs outside of the cluster: names and addresses of the cluster lead to API processes of the test. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ClusterProxy {
  readonly url: string;
  /** How many requests it has passed on. */
  readonly requests: () => number;
  close(): void;
}

/** `targetOf`: the URL of the process for a host and port of the cluster; undefined when there is none. */
export async function clusterProxy(targetOf: (host: string) => string | undefined): Promise<ClusterProxy> {
  let requests = 0;
  const server = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url ?? '/', 'http://unknown');
    const target = targetOf(url.host);
    if (target === undefined) {
      outgoing.writeHead(502).end(`this proxy does not know ${url.host}`);
      return;
    }
    requests += 1;
    const onward = request(
      new URL(url.pathname + url.search, target),
      { method: incoming.method, headers: incoming.headers },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
    onward.on('error', ({ message }) => outgoing.destroy(new Error(message)));
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: () => requests,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
