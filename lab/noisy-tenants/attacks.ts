/** The ways in which one tenant, with a key of default limits, tries to stop the others. Each goes on until its process is killed. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { silentFlac } from '../../test/support/audio-files.ts';
import { readCorpus } from '../fuzz/corpus.ts';
import type { FuzzRequest } from '../fuzz/request.ts';
import { send } from '../fuzz/send.ts';
import { KEPT_ATTACKS } from './kept-attacks.ts';
import { type AttackContext, LIST_ATTACKS, type PreparedAttack } from './list-attacks.ts';

export const PREPARED_ATTACKS: Readonly<Record<string, PreparedAttack>> = {
  ...LIST_ATTACKS,
  ...KEPT_ATTACKS,
};

type Attack = (context: AttackContext) => Promise<unknown>;

const MEBIBYTE = 2 ** 20;
/** The pause after a refusal, as of a client that retries at once. */
const REFUSED_PAUSE_MS = 20;
const MULTIPART = 'multipart/form-data; boundary=x';
const PART = '--x\r\ncontent-disposition: form-data; name="content"; filename="a.wav"\r\n\r\n';
/** The dearest that the model of the target allows. */
export const DEAR_PICTURE = { prompt: 'x', width: 128, height: 96, steps: 20, n: 2 };

const SMALL_PICTURE = { prompt: 'x', height: 64, steps: 2, strength: 1 };
const SIZES = [64, 72, 80, 88, 96, 104, 112, 120];

/** Calls `attack` again and again, this many at once. Its errors are the server's refusals. */
const forever = (parallel: number, attack: (i: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(
    Array.from({ length: Math.max(1, Math.round(parallel)) }, async (_, i) => {
      for (;;) await attack(i).catch(() => sleep(REFUSED_PAUSE_MS));
    }),
  );

async function ask({ port, key }: AttackContext, path: string, body: unknown): Promise<void> {
  const isForm = body instanceof FormData;
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
    body: isForm ? body : JSON.stringify(body),
  });
  await response.arrayBuffer();
  if (!response.ok) await sleep(REFUSED_PAUSE_MS);
}

function fileForm(field: string, bytes: Uint8Array, fields: Readonly<Record<string, string>> = {}): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append(field, new Blob([new Uint8Array(bytes)]), 'a.flac');
  return form;
}

/** Requests of the corpus of one kind, in turn. */
async function replayKind(context: AttackContext, kind: string, parallel: number): Promise<unknown> {
  const requests: readonly FuzzRequest[] = (await readCorpus())
    .flatMap(({ batch }) => batch)
    .filter((request) => request.kind === kind);
  const open = new Set<Socket>();
  const options = { port: context.port, known: { key: context.key }, deadlineMs: 30_000, open };
  let next = 0;
  return forever(parallel, () => send(requests[next++ % requests.length], options));
}

/** Keeps this many connections on which `use` sends something, and opens each again when the server ends it. */
const keepOpen = ({ port }: AttackContext, count: number, use: (socket: Socket) => void): Promise<unknown> =>
  forever(count, async () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.resume();
    use(socket);
    await new Promise((resolve) => socket.once('close', resolve));
    await sleep(REFUSED_PAUSE_MS);
  });

const headOf = (path: string, type: string, lines: readonly string[]): string =>
  [`POST ${path} HTTP/1.1`, 'host: lehr', `content-type: ${type}`, ...lines].join('\r\n');

const slowUploads: Attack = (context) =>
  keepOpen(context, 16, (socket) => {
    const lines = [`authorization: Bearer ${context.key}`, 'content-length: 9000'];
    socket.write(`${headOf('/v1/files', MULTIPART, lines)}\r\n\r\n${PART}`);
    const drip = setInterval(() => socket.write('a'), 1000);
    socket.once('close', () => clearInterval(drip));
  });

const bodiesWithoutKey: Attack = (context) =>
  keepOpen(context, 8, (socket) => {
    socket.write(`${headOf('/v1/jobs', 'application/json', ['transfer-encoding: chunked'])}\r\n\r\n`);
    const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`;
    const more = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on('drain', more);
    more();
  });

const halfSentRequests: Attack = (context) =>
  keepOpen(context, 2000 * context.scale, (socket) => socket.write('POST /v1/jobs HTTP/1.1\r\nhost: le'));

/** More streams of one waiting job than a key may have. */
const manyStreams: Attack = async (context) => {
  const url = `http://127.0.0.1:${context.port}/v1/jobs`;
  const headers = { authorization: `Bearer ${context.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'text-to-image', priority: 'bulk', input: DEAR_PICTURE });
  const { id } = (await (await fetch(url, { method: 'POST', headers, body })).json()) as { id: string };
  return keepOpen(context, 1200 * context.scale, (socket) =>
    socket.write(
      `GET /v1/jobs/${id}/events HTTP/1.1\r\nhost: lehr\r\nauthorization: Bearer ${context.key}\r\n\r\n`,
    ),
  );
};

/** Polls of a few jobs, each held until its job ends. Ended jobs are replaced. */
const longPolls: Attack = async (context) => {
  const url = `http://127.0.0.1:${context.port}/v1/jobs`;
  const headers = { authorization: `Bearer ${context.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ type: 'text-to-image', priority: 'bulk', input: DEAR_PICTURE });
  const make = async (): Promise<string> =>
    ((await (await fetch(url, { method: 'POST', headers, body })).json()) as { id: string }).id;
  const jobs = await Promise.all(Array.from({ length: 20 }, make));
  return forever(3000 * context.scale, async (i) => {
    const id = jobs[i % jobs.length];
    const response = await fetch(`${url}/${id}?wait=60`, { headers });
    const { status } = (await response.json()) as { status: unknown };
    if (!response.ok) await sleep(REFUSED_PAUSE_MS);
    // Of the polls of a job, one replaces it.
    if (status === 'succeeded' && i < jobs.length) jobs[i] = await make();
  });
};

const dearAudio: Attack = async (context) => {
  const seconds = Math.ceil(60 * context.scale);
  const flac = silentFlac({ seconds, declaredSeconds: seconds });
  const inline = `data:audio/flac;base64,${Buffer.from(flac).toString('base64')}`;
  return forever(8, (i) =>
    i % 2 === 0
      ? ask(context, '/v1/jobs', { type: 'speech-to-text', input: { audio: inline } })
      : ask(context, '/v1/audio/transcriptions', fileForm('file', flac, { model: 'ears' })),
  );
};

const workflows: Attack = (context) =>
  forever(4, () =>
    ask(context, '/v1/jobs', {
      type: 'workflow',
      nodes: Array.from({ length: 16 }, (_, i) => ({
        id: `n${i}`,
        type: 'text-to-image',
        input: DEAR_PICTURE,
      })),
    }),
  );

/** Pictures and audio that arrive byte by byte, for jobs of many groups. The worker must be allowed to fetch from this machine. */
const drippingInputs: Attack = async (context) => {
  const server = createServer((_, response) => {
    const drip = setInterval(() => response.write('x'), 500);
    response.once('close', () => clearInterval(drip));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
  return forever(8, (i) =>
    ask(
      context,
      '/v1/jobs',
      i % 4 === 0
        ? { type: 'speech-to-text', input: { audio: url } }
        : { type: 'text-to-image', input: { ...SMALL_PICTURE, width: SIZES[i % 4], image: url } },
    ),
  );
};

/** More sizes than a worker has lanes. */
const bulkOfManySizes: Attack = (context) =>
  forever(8, (i) =>
    ask(context, '/v1/jobs', {
      type: 'text-to-image',
      priority: 'bulk',
      input: { ...DEAR_PICTURE, width: SIZES[i % SIZES.length] },
    }),
  );

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'malformed uploads': (context) => replayKind(context, 'multipart', 16),
  'hostile JSON bodies': (context) => replayKind(context, 'json', 4),
  'dear audio': dearAudio,
  'dear pictures': (context) =>
    forever(8, () => ask(context, '/v1/jobs', { type: 'text-to-image', input: DEAR_PICTURE })),
  'dear pictures of the most urgent class': (context) =>
    forever(8, () =>
      ask(context, '/v1/jobs', { type: 'text-to-image', priority: 'interactive', input: DEAR_PICTURE }),
    ),
  'bulk pictures of many sizes': bulkOfManySizes,
  'inputs that arrive byte by byte': drippingInputs,
  workflows,
  'slow uploads': slowUploads,
  'large uploads': async (context) => {
    const bytes = new Uint8Array(20 * MEBIBYTE * context.scale);
    return forever(8, () => ask(context, '/v1/files', fileForm('content', bytes)));
  },
  'more streams than a key may have': manyStreams,
  'held requests': (context) =>
    forever(200 * context.scale, () =>
      ask(context, '/v1/jobs?wait=60', { type: 'text-to-image', priority: 'bulk', input: DEAR_PICTURE }),
    ),
  'flood of long polls': longPolls,
  'half-sent requests': halfSentRequests,
  'bodies without a key': bodiesWithoutKey,
  ...Object.fromEntries(Object.entries(PREPARED_ATTACKS).map(([name, { attack }]) => [name, attack])),
};
