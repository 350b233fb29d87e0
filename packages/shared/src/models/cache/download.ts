/** Fetches one file: resumes what is there already, verifies the digest, and tries again what may pass. */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { type Clock, systemClock } from '../../base/clock.ts';
import { LehrError, toLehrError } from '../../base/errors.ts';
import { type Backoff, backoffMs, withJitter } from '../../base/retry.ts';
import { codeOf, ignore } from '../../objects/errno.ts';
import type { ChosenFile } from './choose-files.ts';
import { connectionLost } from './http-get.ts';
import type { Digest, Listing, Remote } from './remote.ts';

export interface DownloadTimes extends Backoff {
  /** Without a byte for this long, a connection is given up. */
  readonly stallMs: number;
}

export const DOWNLOAD_TIMES: DownloadTimes = { stallMs: 60_000, firstMs: 1_000, maxMs: 60_000 };
/** Failures in a row without a byte of progress. */
const MAX_FAILURES = 6;
/** A damaged file is fetched again once from its beginning. */
const MAX_DAMAGED = 2;
/** A server that asks for a longer pause is believed up to this. */
const MAX_RETRY_AFTER_MS = 300_000;

export interface DownloadOptions {
  readonly remote: Remote;
  readonly listing: Listing;
  readonly file: ChosenFile;
  /** Where the finished file goes. */
  readonly path: string;
  readonly signal: AbortSignal;
  readonly times: DownloadTimes;
  /** Called with the bytes that were added to the file, or taken back. */
  readonly onBytes: (bytes: number) => void;
  readonly onRetry: (error: LehrError, pauseMs: number) => void;
  readonly clock?: Clock;
}

/** What is on the disk of a file that is not complete. */
export const partOf = (path: string): string => `${path}.part`;

/** Returns the SHA-256 of the complete file. */
export async function download(options: DownloadOptions): Promise<string> {
  const { path, file, signal, times, onRetry, clock = systemClock } = options;
  await mkdir(dirname(path), { recursive: true });
  let failures = 0;
  let damaged = 0;
  let size = await sizeOf(partOf(path));
  /** What was reported differs from what is on the disk when a write was cut off. */
  const settle = async (reported: number): Promise<number> => {
    const now = await sizeOf(partOf(path));
    options.onBytes(now - reported);
    return now;
  };
  for (;;) {
    const before = size;
    const onBytes = (bytes: number): void => {
      size += bytes;
      options.onBytes(bytes);
    };
    try {
      const { sha256, matches } = await fetchRest({ ...options, onBytes }, before);
      if (matches) {
        await publish(path);
        return sha256;
      }
      await rm(partOf(path), { force: true });
      size = await settle(size);
      damaged += 1;
      if (damaged === MAX_DAMAGED) throw damagedError(file);
    } catch (error) {
      signal.throwIfAborted();
      const failure = toLehrError(error, 'storage-failed');
      if (failure.code === 'conflict') await rm(partOf(path), { force: true });
      else if (!mayPass(failure)) throw failure;
      size = await settle(size);
      failures = size > before ? 0 : failures + 1;
      if (failures === MAX_FAILURES) throw failure;
      const pauseMs = pauseOf(failure, failures, times);
      onRetry(failure, pauseMs);
      await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  }
}

const mayPass = ({ code }: LehrError): boolean => code === 'unavailable' || code === 'rate-limited';

function pauseOf({ retryAfterS }: LehrError, failures: number, times: DownloadTimes): number {
  const wanted = retryAfterS === undefined ? 0 : Math.min(retryAfterS * 1000, MAX_RETRY_AFTER_MS);
  return wanted + withJitter(backoffMs(times, failures + 1));
}

interface Fetched {
  readonly sha256: string;
  readonly matches: boolean;
}

/** Appends what is missing. The digest is of the whole file, so what an earlier process wrote is read again first. */
async function fetchRest(options: DownloadOptions, have: number): Promise<Fetched> {
  const { file, path } = options;
  if (have > file.bytes) return { sha256: '', matches: false };
  let hashes = await hashOf(path, file, have);
  if (have < file.bytes || file.bytes === 0) hashes = await append(options, hashes);
  if (hashes.bytes < file.bytes) {
    throw new LehrError('unavailable', `${file.path} ended after ${hashes.bytes} of ${file.bytes} bytes.`);
  }
  return hashes.result();
}

/** Returns the hashes of all bytes: new ones when the source sent the file from an earlier byte on than was asked for. */
async function append(options: DownloadOptions, hashes: Hashes): Promise<Hashes> {
  const { remote, listing, file, path, signal, times, onBytes } = options;
  const have = hashes.bytes;
  const stall = new StallTimer(times.stallMs, signal);
  try {
    const { offset, body } = await remote.open(file, have, listing, stall.signal);
    if (offset > have) {
      body.destroy();
      throw new LehrError('conflict', `${file.path} was answered from byte ${offset} on.`);
    }
    const all = offset === have ? hashes : await hashOf(path, file, offset);
    onBytes(offset - have);
    await writeBody(addAbortSignal(stall.signal, body), options, all, () => stall.reset());
    return all;
  } catch (error) {
    signal.throwIfAborted();
    throw asFailure(error, file, stall);
  } finally {
    stall.stop();
  }
}

function asFailure(error: unknown, file: ChosenFile, stall: StallTimer): LehrError {
  if (error instanceof LehrError) return error;
  if (stall.isOver) return new LehrError('unavailable', `${file.path}: no byte arrived for ${stall.ms} ms.`);
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new LehrError('storage-failed', `The disk is full (${code}).`, { cause: error });
  }
  const isOwn = error instanceof Error && 'path' in error;
  if (isOwn) return toLehrError(error, 'storage-failed');
  return connectionLost(file.path, error);
}

/** Appends to the part of which `hashes` knows the bytes. Refuses more bytes than the source announced: they would fill the disk. */
async function writeBody(
  body: Readable,
  { file, path, onBytes }: DownloadOptions,
  hashes: Hashes,
  onChunk: () => void,
): Promise<void> {
  const handle = await open(partOf(path), hashes.bytes === 0 ? 'w' : 'r+');
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      onChunk();
      if (hashes.bytes + chunk.byteLength > file.bytes) {
        throw new LehrError('conflict', `${file.path} is longer than the announced ${file.bytes} bytes.`);
      }
      for (let written = 0; written < chunk.byteLength; ) {
        const at = hashes.bytes + written;
        written += (await handle.write(chunk, written, chunk.byteLength - written, at)).bytesWritten;
      }
      hashes.update(chunk);
      onBytes(chunk.byteLength);
    }
  } finally {
    body.destroy();
    await handle.close();
  }
}

/** Of the first bytes of the part that is on the disk. */
async function hashOf(path: string, file: ChosenFile, bytes: number): Promise<Hashes> {
  const hashes = new Hashes(file.bytes, file.digest);
  if (bytes === 0) return hashes;
  for await (const chunk of createReadStream(partOf(path), { end: bytes - 1 }))
    hashes.update(chunk as Buffer);
  return hashes;
}

/** The SHA-256 of a file, and the digest that its source names. */
class Hashes {
  readonly #sha256 = createHash('sha256');
  readonly #git: Hash | undefined;
  readonly #digest: Digest | undefined;
  bytes = 0;

  constructor(bytes: number, digest: Digest | undefined) {
    this.#digest = digest;
    // How git names a file: by its kind and length, then its bytes.
    if (digest?.kind === 'git-sha1') this.#git = createHash('sha1').update(`blob ${bytes}\0`);
  }

  update(chunk: Buffer): void {
    this.bytes += chunk.byteLength;
    this.#sha256.update(chunk);
    this.#git?.update(chunk);
  }

  result(): Fetched {
    const sha256 = this.#sha256.digest('hex');
    const found = this.#git ? this.#git.digest('hex') : sha256;
    return { sha256, matches: this.#digest === undefined || this.#digest.hex === found };
  }
}

class StallTimer {
  readonly ms: number;
  readonly #over = new AbortController();
  readonly signal: AbortSignal;
  #timer: NodeJS.Timeout;

  constructor(ms: number, signal: AbortSignal) {
    this.ms = ms;
    this.signal = AbortSignal.any([signal, this.#over.signal]);
    this.#timer = setTimeout(() => this.#over.abort(), ms);
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  reset(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** On the disk before it gets its name: after a power failure a file with its name is a whole one. */
async function publish(path: string): Promise<void> {
  const handle = await open(partOf(path), 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(partOf(path), path);
}

export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(ignore('ENOENT')))?.size ?? 0;
}

const damagedError = ({ path, digest }: ChosenFile): LehrError =>
  new LehrError(
    'model-unavailable',
    `${path} arrived damaged ${MAX_DAMAGED} times: its ${digest?.kind ?? 'length'} is not the one that the source names.`,
  );
