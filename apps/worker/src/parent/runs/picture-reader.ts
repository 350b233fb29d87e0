/**
 * Reads the pictures that jobs begin at, a few at a time: a file of some megabytes can take hundreds when it is decoded. Bytes are reserved
 * before a file is fetched, and before it is decoded. Tenants take turns, and one tenant gets no more once it holds half of a limit.
 */
import type { PriorityClass } from '@lehr/shared';
import { MemorySupply, type SlotRequest, Slots } from '../audio/slots.ts';
import { decodedBytes, isLatentFile, type PixelSize, readPicture } from './picture-input.ts';

export interface PictureReaderOptions {
  /** The largest file, bytes. */
  readonly fileBytes: number;
  /** For all files that are fetched or wait for their decoding, bytes. */
  readonly filesBytes: number;
  /** For all pictures that are decoded at the same time, bytes. A larger one is decoded alone. */
  readonly decodedBytes: number;
}

export interface PictureToRead {
  readonly fetch: () => Promise<Uint8Array>;
  /** The size of the job. */
  readonly size: PixelSize;
  /** Owners take turns, within each class. */
  readonly owner: string;
  readonly priority?: PriorityClass;
  readonly signal: AbortSignal;
}

/** What a job begins at: pixels as readPicture gives them, or the file of a latent. */
export type Beginning = { readonly image: Uint8Array } | { readonly latent: Uint8Array };

/** Half of the threads of libuv, which also encode results and resolve names. */
const DECODINGS = 2;

export class PictureReader {
  readonly #fileBytes: number;
  readonly #files: Slots;
  readonly #fileMemory: MemorySupply;
  readonly #decodings: Slots;
  readonly #decodeMemory: MemorySupply;

  constructor({ fileBytes, filesBytes, decodedBytes: bytes }: PictureReaderOptions) {
    this.#fileBytes = fileBytes;
    this.#fileMemory = new MemorySupply(filesBytes);
    this.#files = new Slots(Number.MAX_SAFE_INTEGER, this.#fileMemory);
    this.#decodeMemory = new MemorySupply(bytes);
    this.#decodings = new Slots(DECODINGS, this.#decodeMemory);
  }

  /** Rejects as readPicture and `fetch` do, and with the reason of the signal when it aborts before a turn. */
  read({ fetch, size, priority = 'interactive', signal, ...of }: PictureToRead): Promise<Beginning> {
    const owner = `${of.owner} ${priority}`;
    const file = { owner, size: this.#fileBytes, priority };
    return this.#within(this.#files, this.#fileMemory, file, signal, async () => {
      const bytes = await fetch();
      if (isLatentFile(bytes)) return { latent: bytes };
      const decoded = { owner, size: await decodedBytes(bytes), priority };
      return this.#within(this.#decodings, this.#decodeMemory, decoded, signal, () =>
        readPicture(bytes, size).then((image) => ({ image })),
      );
    });
  }

  #within(
    slots: Slots,
    memory: MemorySupply,
    request: SlotRequest,
    signal: AbortSignal,
    task: () => Promise<Beginning>,
  ): Promise<Beginning> {
    const freed = async (): Promise<Beginning> => {
      try {
        return await task();
      } finally {
        memory.give(request);
      }
    };
    return slots.run(freed, signal, request);
  }
}
