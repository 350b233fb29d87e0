/**
 * Stops the claiming of jobs whose outputs could not be stored.
 *
 *   closed -> waiting   a write fails or takes long, or too many bytes wait to be written
 *   waiting -> closed   all of them are written
 *   any -> open         the retries of a write were used up, and the store's own check fails too
 *   open -> closed      the check passes
 */
import { backoffMs, type Clock, type Log } from '@lehr/shared';

export interface StoreBreakerOptions {
  /** Rejects while the store takes no writes. */
  readonly check: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Outputs that wait in memory. A picture takes some MB, so this is some hundred of them. */
const MAX_PENDING_BYTES = 256 * 1024 * 1024;
const CHECKS = { firstMs: 1_000, maxMs: 15_000 };

export class StoreBreaker {
  readonly #options: StoreBreakerOptions;
  #troubled = 0;
  #pendingBytes = 0;
  #isOpen = false;

  constructor(options: StoreBreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Bytes of outputs that are not written yet. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Whether further jobs may be claimed. */
  get isClosed(): boolean {
    return !this.#isOpen && this.#troubled === 0 && this.#pendingBytes < MAX_PENDING_BYTES;
  }

  /** Follows one write from its first attempt to its end. */
  follow(bytes: number): { readonly markTroubled: () => void; readonly end: () => void } {
    let isTroubled = false;
    this.#pendingBytes += bytes;
    return {
      markTroubled: () => {
        if (!isTroubled) this.#troubled += 1;
        isTroubled = true;
      },
      end: () => {
        if (isTroubled) this.#troubled -= 1;
        this.#pendingBytes -= bytes;
      },
    };
  }

  /** The retries of a write are used up. Returns whether the store is down; if so, the breaker is open until it is back. */
  async isStoreDown(): Promise<boolean> {
    if (this.#isOpen || (await this.#isUp())) return this.#isOpen;
    if (!this.#isOpen) void this.#waitUntilUp();
    return true;
  }

  async #waitUntilUp(): Promise<void> {
    const { clock, log } = this.#options;
    this.#isOpen = true;
    log.error({}, 'the store takes no writes; no job is claimed until it does');
    for (let failures = 1; this.#isOpen; failures++) {
      await clock.sleep(backoffMs(CHECKS, failures));
      if (await this.#isUp()) this.#isOpen = false;
    }
    log.info({}, 'the store takes writes again');
  }

  #isUp(): Promise<boolean> {
    return this.#options.check().then(
      () => true,
      () => false,
    );
  }
}
