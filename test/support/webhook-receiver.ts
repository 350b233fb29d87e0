/** A webhook receiver that replies as scripted, keeps what it received, and verifies it as real receivers do. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { validateWebhook } from 'replicate';
import { Webhook } from 'standardwebhooks';
import { vi } from 'vitest';
import { served } from './served.ts';

/** One reply. `hang` never replies; `drip` sends status 200 and then one byte at a time; `cut` closes the connection. */
export type Answer =
  | number
  | {
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
      /** The reply waits for it. */
      readonly after?: Promise<unknown>;
    }
  | 'hang'
  | 'drip'
  | 'cut';

export interface Received {
  readonly id: string;
  readonly timestamp: number;
  readonly signature: string;
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes, as text. */
  readonly body: string;
  /** Monotonic, ms. */
  readonly at: number;
  readonly answer: Answer;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Connections open now. */
  readonly open: number;
  /** The next replies, in order; after them the reply is `otherwise`. */
  answer(...answers: Answer[]): void;
  otherwise(answer: Answer): void;
  /** Resolves when at least `count` deliveries have arrived. */
  until(count: number, timeoutMs?: number): Promise<readonly Received[]>;
}

const DRIP_MS = 50;

export async function webhookReceiver(otherwise: Answer = 204, path = '/hook'): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const answers: Answer[] = [];
  let last = otherwise;
  let open = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { headers } = request;
      const answer = answers.shift() ?? last;
      received.push({
        id: String(headers['webhook-id']),
        timestamp: Number(headers['webhook-timestamp']),
        signature: String(headers['webhook-signature']),
        headers,
        body: Buffer.concat(chunks).toString(),
        at: performance.now(),
        answer,
      });
      void reply(response, answer);
    });
  });
  server.on('connection', (socket) => {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
  });
  const url = await served(server);
  return {
    url: `${url}${path}`,
    received,
    get open() {
      return open;
    },
    answer: (...next) => {
      answers.push(...next);
    },
    otherwise: (answer) => {
      last = answer;
    },
    until: (count, timeout = 20_000) =>
      vi.waitFor(
        () => {
          if (received.length < count) throw new Error(`${received.length} of ${count} deliveries arrived`);
          return received;
        },
        { timeout, interval: 5 },
      ),
  };
}

async function reply(response: ServerResponse, answer: Answer): Promise<void> {
  if (answer === 'hang') return;
  if (answer === 'cut') {
    response.socket?.destroy();
    return;
  }
  if (answer === 'drip') {
    response.writeHead(200);
    const drip = setInterval(() => response.write('.'), DRIP_MS);
    response.once('close', () => clearInterval(drip));
    return;
  }
  const { status, headers = {}, body = '', after } = typeof answer === 'number' ? { status: answer } : answer;
  await after;
  response.writeHead(status, headers).end(body);
}

/** Whether the common verifiers accept it; throws what `standardwebhooks` throws. */
export async function verified(
  { id, timestamp, signature, body }: Received,
  secret: string,
): Promise<boolean> {
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  };
  new Webhook(secret).verify(body, headers);
  const parts = { id, timestamp: String(timestamp), signature, body, secret };
  const request = new Request('http://receiver.example/', { method: 'POST', headers, body });
  return (await validateWebhook(parts)) && (await validateWebhook(request, secret));
}
