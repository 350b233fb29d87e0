/**
 * Posts jobs over a few kept connections with one request at a time on each. It is a separate program, so that the measured
 * process does not pay for it. The request bytes are made once, and only status and length of a response are read.
 */
import { connect, type Socket } from 'node:net';

export interface LoadSettings {
  readonly port: number;
  readonly key: string;
  readonly body: string;
  readonly count: number;
  readonly connections: number;
}

const HEAD_END = '\r\n\r\n';

process.on('message', (order: LoadSettings) => {
  const startedAt = performance.now();
  void run(order).then(
    () => process.send?.({ ms: performance.now() - startedAt }),
    (error) => process.send?.({ error: String(error) }),
  );
});

async function run({ port, key, body, count, connections }: LoadSettings): Promise<void> {
  const request = Buffer.from(
    [
      'POST /v1/jobs HTTP/1.1',
      `host: 127.0.0.1:${port}`,
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
  let left = count;
  const take = (): boolean => left-- > 0;
  await Promise.all(Array.from({ length: connections }, () => sendRequests(port, request, take)));
}

/** Sends the request repeatedly while `take` returns true. Rejects at the first response that is not 202. */
async function sendRequests(port: number, request: Buffer, take: () => boolean): Promise<void> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  try {
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    while (take()) {
      socket.write(request);
      const answer = await nextAnswer(socket);
      if (!answer.startsWith('HTTP/1.1 202')) throw new Error(answer.slice(0, 400));
    }
  } finally {
    socket.destroy();
  }
}

function nextAnswer(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1');
      const end = text.indexOf(HEAD_END);
      const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
      if (end < 0 || length === undefined || text.length < end + HEAD_END.length + Number(length)) return;
      socket.off('data', onData).off('close', onClose);
      resolve(text);
    };
    const onClose = (): void => reject(new Error('the connection closed before its answer'));
    socket.on('data', onData).once('close', onClose);
  });
}
