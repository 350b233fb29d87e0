/**
 * The memory for one kind of media of a worker, such as waveforms. The most that a file can take is reserved before it is decoded, and given
 * back when it is known to take less, and when it is not used any more.
 */
import { type PriorityClass, urgencyOf } from '@lehr/shared';
import type { SlotRequest, Supply } from './slots.ts';

/** An owner that holds this part of the memory gets no more, so that its long files leave room for those of others. */
const OWNER_SHARE = 1 / 2;
/** A class leaves this part of the memory free for each more urgent one. */
const CLASS_SHARE = 1 / 4;

export class MemorySupply implements Supply {
  readonly #bytes: number;
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Reserved or in use. */
  get usedBytes(): number {
    return this.#used;
  }

  /** A waveform that is too large for the limit fits when there is no other. */
  fits({ owner, size, priority }: SlotRequest): boolean {
    const held = this.#held.get(owner) ?? 0;
    return this.hasRoom(size, priority) && (held === 0 || held < this.#bytes * OWNER_SHARE);
  }

  /** Whether so many bytes are left for some owner. */
  hasRoom(size: number, priority: PriorityClass = 'interactive'): boolean {
    return this.#used === 0 || this.#used + size <= this.#bytes * (1 - urgencyOf(priority) * CLASS_SHARE);
  }

  take({ owner, size }: SlotRequest): void {
    this.#used += size;
    const held = (this.#held.get(owner) ?? 0) + size;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }

  /** Gives back a part of what was taken. */
  give({ owner, size }: SlotRequest): void {
    this.take({ owner, size: -size });
  }
}
