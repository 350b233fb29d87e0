/**
 * A run of the fuzzer: rounds of batches of requests until the time is over. After each batch the API must be alive and its event
 * loop must not have been blocked for long; after each round nothing may be held any more. fast-check generates the batches, and
 * shrinks one that shows a fault to the smallest that still shows it.
 */
import type { Socket } from 'node:net';
import fc from 'fast-check';
import type { OpenApiDocument } from '../../test/support/openapi.ts';
import { batchOf } from './grammar/grammar.ts';
import { knownOf } from './known.ts';
import { Finding, settle } from './leaks.ts';
import { startOtherTenant } from './other-tenant.ts';
import type { FuzzRequest, Known } from './request.ts';
import { type Answer, send } from './send.ts';
import type { Target } from './target.ts';

export interface RunOptions {
  /** Longest time that one batch may block the event loop; not checked when absent. */
  readonly maxBlockedMs?: number;
  /** Called at once for each finding. */
  readonly onFinding?: (found: Found) => void;
}

export interface CampaignOptions extends RunOptions {
  readonly seed: number;
  readonly ms: number;
}

export interface Found {
  readonly what: string;
  /** The smallest batch that shows it; empty for what is seen between batches. */
  readonly batch: readonly FuzzRequest[];
  /** The seed of its round. */
  readonly seed: number;
}

export interface CampaignReport {
  readonly found: readonly Found[];
  readonly requests: number;
  /** Requests by kind, and by kind and status. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** After each round, garbage collected. */
  readonly rssBytes: readonly number[];
  /** The longest block of the event loop that was seen, also if it was not seen again. */
  readonly blockedMs: number;
  readonly otherTenantMs: readonly number[];
}

const BATCHES_OF_ROUND = 60;
/** Longer than any request may be held, on a busy machine. */
const DEADLINE_MS = 30_000;
/** Of one round with the search for the smallest batch. */
const ROUND_LIMIT_MS = 90_000;
const MAX_FOUND = 10;
/** Other work of the machine blocks the event loop too, so a block counts when it is seen this often in a row. */
const BLOCKED_RUNS = 5;

export async function runCampaign(target: Target, options: CampaignOptions): Promise<CampaignReport> {
  const document = (await (await target.ask('', 'GET', '/openapi.json')).json()) as OpenApiDocument;
  const batches = batchOf(document);
  const run = new Run(target, options);
  const otherTenant = startOtherTenant(target);
  const rssBytes: number[] = [];
  const endsAt = performance.now() + options.ms;
  for (let seed = options.seed; performance.now() < endsAt && run.found.length < MAX_FOUND; seed++) {
    await run.startRound();
    const checked = await fc.check(
      fc.asyncProperty(batches, (batch) => run.batch(batch)),
      {
        seed,
        numRuns: BATCHES_OF_ROUND,
        interruptAfterTimeLimit: Math.min(endsAt - performance.now(), ROUND_LIMIT_MS),
        markInterruptAsFailure: false,
      },
    );
    // fast-check also calls a round failed whose time ended before its first batch did; such a round has no counterexample.
    const { counterexample, errorInstance } = checked;
    if (counterexample !== null) run.note(String(errorInstance), counterexample[0], seed);
    await run.endRound(seed, otherTenant.fault);
    rssBytes.push((await target.probe(true)).rssBytes);
  }
  await otherTenant.stop();
  return { ...run.counts(), found: run.found, rssBytes, otherTenantMs: otherTenant.latencies };
}

/** Sends batches and notes what shows a fault. */
export class Run {
  readonly found: Found[] = [];
  readonly #target: Target;
  readonly #options: RunOptions;
  readonly #open = new Set<Socket>();
  readonly #kinds: Record<string, number> = {};
  readonly #statuses: Record<string, number> = {};
  #known: Known = {};
  #errorsSeen: number;
  #blockedMs = 0;

  constructor(target: Target, options: RunOptions) {
    this.#target = target;
    this.#options = options;
    this.#errorsSeen = target.errors.length;
  }

  counts(): Pick<CampaignReport, 'requests' | 'kinds' | 'statuses' | 'blockedMs'> {
    const requests = Object.values(this.#kinds).reduce((sum, each) => sum + each, 0);
    return { requests, kinds: this.#kinds, statuses: this.#statuses, blockedMs: this.#blockedMs };
  }

  note(what: string, batch: readonly FuzzRequest[], seed: number): void {
    const found = { what, batch, seed };
    this.found.push(found);
    this.#options.onFinding?.(found);
  }

  async startRound(): Promise<void> {
    this.#known = await knownOf(this.#target, this.#target.attackerKey);
    await this.#target.probe();
  }

  async endRound(seed: number, otherTenantFault: string | undefined): Promise<void> {
    try {
      await settle(this.#target, this.#open);
      if (otherTenantFault !== undefined) throw new Finding(otherTenantFault);
    } catch (error) {
      this.note(String(error), [], seed);
    }
  }

  /** Throws a Finding. */
  async batch(batch: readonly FuzzRequest[]): Promise<void> {
    const { maxBlockedMs = Number.POSITIVE_INFINITY } = this.#options;
    for (let i = 1; ; i++) {
      await Promise.all(batch.map((request) => this.#request(request)));
      this.#checkErrors();
      const { blockedMs } = await this.#target.probe();
      this.#blockedMs = Math.max(this.#blockedMs, blockedMs);
      if (blockedMs <= maxBlockedMs) return;
      if (i === BLOCKED_RUNS) {
        throw new Finding(`the event loop was blocked for ${Math.round(blockedMs)} ms, ${i} times in a row`);
      }
    }
  }

  async #request(request: FuzzRequest): Promise<void> {
    const { port } = this.#target;
    const options = { port, known: this.#known, deadlineMs: DEADLINE_MS, open: this.#open };
    const answer = await send(request, options);
    count(this.#kinds, request.kind);
    count(this.#statuses, `${request.kind} ${answer.status ?? (answer.isReset ? 'reset' : 'none')}`);
    const fault = faultOf(request, answer);
    if (fault !== undefined) throw new Finding(`${request.kind}: ${fault}`);
  }

  #checkErrors(): void {
    const { errors } = this.#target;
    const fresh = errors.slice(this.#errorsSeen);
    this.#errorsSeen = errors.length;
    if (fresh.length > 0) throw new Finding(fresh.join('\n'));
  }
}

const count = (counts: Record<string, number>, name: string): void => {
  counts[name] = (counts[name] ?? 0) + 1;
};

/** 503 and 504 refuse an attacker; every other status from 500 on is a fault of the server. */
export function faultOf(request: FuzzRequest, { status, text, isOver, isReset }: Answer): string | undefined {
  if (!isOver) return `no end within ${DEADLINE_MS / 1000} s (status ${status ?? 'none'})`;
  const internal = /HTTP\/1\.1 5(?!03|04)\d\d/.exec(text)?.[0];
  if (internal !== undefined) return `${internal}: ${text.slice(-500)}`;
  const mustAnswer = request.end === 'wait' && !(isReset && isLarge(request));
  return mustAnswer && status === undefined ? 'the connection ended without an answer' : undefined;
}

/** A refusal closes the connection under a body that is still being sent, and the reset can overtake the answer. */
const isLarge = ({ body, writes = 1 }: FuzzRequest): boolean =>
  writes > 1 || JSON.stringify(body).length > 2000 || body.some(({ times = 1 }) => times > 1);
