/** Sends the bytes of a request on a connection of its own and reports how the server answered. */
import { connect, type Socket } from 'node:net';
import { bytesOf, type FuzzRequest, type Known } from './request.ts';

export interface Answer {
  /** Of the first response on the connection; undefined when the server sent none. */
  readonly status?: number;
  /** The start of everything the server sent. */
  readonly text: string;
  /** Whether the server ended the connection, or its response is a stream that has begun. */
  readonly isOver: boolean;
  /** Whether the server reset the connection. What it sent before may be lost then. */
  readonly isReset: boolean;
}

export interface SendOptions {
  readonly port: number;
  readonly known: Known;
  /** Without an end within this time, `isOver` is false. */
  readonly deadlineMs: number;
  /** Keeps connections that stay open, so that the caller can close them. */
  readonly open: Set<Socket>;
}

const MAX_TEXT = 4000;
/** Between the writes of one request. */
const WRITE_PAUSE_MS = 1;

export async function send(request: FuzzRequest, options: SendOptions): Promise<Answer> {
  const bytes = bytesOf(request, options.known);
  // Half-open, so that closing our side does not hide what the server does.
  const socket = connect({ port: options.port, host: '127.0.0.1', allowHalfOpen: true });
  options.open.add(socket);
  const received = receive(socket);
  socket.once('close', () => options.open.delete(socket));
  try {
    await write(socket, bytes, request.writes ?? 1);
    if (request.end === 'open') return answerOf(received, true);
    if (request.end === 'reset') socket.resetAndDestroy();
    if (request.end === 'close') socket.end();
    const isOver = await within(options.deadlineMs, received.over);
    return answerOf(received, isOver);
  } finally {
    if (request.end !== 'open') socket.destroy();
  }
}

interface Received {
  text(): string;
  isReset(): boolean;
  readonly over: Promise<void>;
}

function receive(socket: Socket): Received {
  let text = '';
  let isReset = false;
  const over = new Promise<void>((resolve) => {
    socket.on('data', (data) => {
      if (text.length < MAX_TEXT) text += data.toString('latin1').slice(0, MAX_TEXT - text.length);
      if (/^content-type: text\/event-stream/im.test(text)) resolve();
    });
    for (const event of ['end', 'close'] as const) socket.on(event, () => resolve());
    socket.on('error', () => {
      isReset = true;
      resolve();
    });
  });
  return { text: () => text, isReset: () => isReset, over };
}

/** Writes without waiting for the server to read: it may refuse a large body and stop reading it. */
async function write(socket: Socket, bytes: Buffer, writes: number): Promise<void> {
  const size = Math.max(1, Math.ceil(bytes.length / writes));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += size) {
    if (at > 0) await new Promise((resolve) => setTimeout(resolve, WRITE_PAUSE_MS));
    socket.write(bytes.subarray(at, at + size));
  }
}

function answerOf(received: Received, isOver: boolean): Answer {
  const text = received.text();
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1];
  return { ...(status && { status: Number(status) }), text, isOver, isReset: received.isReset() };
}

/** Whether `settles` settled in time. */
async function within(ms: number, settles: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([settles.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
