/** Another tenant, which works as usual while the fuzzer runs; every request of it must be answered and admitted. */
import type { Target } from './target.ts';

const LIMIT_MS = 20_000;
const EVERY_MS = 200;

export interface OtherTenant {
  /** Milliseconds of each request so far. */
  readonly latencies: readonly number[];
  /** The first request that was refused or not answered. */
  readonly fault: string | undefined;
  stop(): Promise<void>;
}

export function startOtherTenant({ ask, politeKey }: Target): OtherTenant {
  const latencies: number[] = [];
  let fault: string | undefined;
  let isStopped = false;
  const body = { type: 'text-to-image', input: { prompt: 'a blue square' } };
  const requests: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ['POST', '/v1/jobs', body],
    ['GET', '/v1/jobs?limit=5'],
    ['GET', '/v1/models'],
    ['GET', '/v1/queues'],
  ];
  const run = async (): Promise<void> => {
    for (let i = 0; !isStopped; i++) {
      const [method, path, sent] = requests[i % requests.length];
      const startedAt = performance.now();
      const status = await Promise.race([
        ask(politeKey, method, path, sent).then(
          async (response) => {
            await response.arrayBuffer();
            return response.status;
          },
          (error: Error) => error.message,
        ),
        new Promise((resolve) => setTimeout(resolve, LIMIT_MS, 'no answer').unref()),
      ]);
      latencies.push(performance.now() - startedAt);
      if (status !== 200 && status !== 202) fault ??= `${method} ${path} of another tenant: ${status}`;
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  };
  const ended = run();
  return {
    latencies,
    get fault() {
      return fault;
    },
    stop: async () => {
      isStopped = true;
      await ended;
    },
  };
}
