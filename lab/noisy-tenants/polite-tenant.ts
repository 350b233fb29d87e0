/** A tenant that asks every operation in turn and notes how each was answered. */
import { knownOf } from '../fuzz/known.ts';
import { type Known, named } from '../fuzz/request.ts';
import type { Target } from '../fuzz/target.ts';
import { POLITE_REQUESTS, type PoliteRequest } from './polite-requests.ts';

/** A request without an answer for this long counts as unanswered. */
const DEADLINE_MS = 60_000;

export interface Asked {
  /** Ms of each answer, by operation. */
  readonly ms: Readonly<Record<string, readonly number[]>>;
  /** Requests that were refused or not answered, in words. */
  readonly refused: readonly string[];
}

export class PoliteTenant {
  readonly #target: Target;
  #known: Known = {};

  constructor(target: Target) {
    this.#target = target;
  }

  /** Makes what its requests name. Call it before an attack starts. */
  async prepare(): Promise<void> {
    this.#known = { ...this.#known, ...(await knownOf(this.#target, this.#target.politeKey)) };
  }

  /** Asks every operation once in each round, one after the other. */
  async ask(rounds: number): Promise<Asked> {
    const ms: Record<string, number[]> = {};
    const refused: string[] = [];
    for (let round = 0; round < rounds; round++) {
      for (const request of POLITE_REQUESTS) {
        const startedAt = performance.now();
        const answer = await this.#send(request);
        ms[request.operation] = [...(ms[request.operation] ?? []), performance.now() - startedAt];
        if (typeof answer !== 'number' || !request.statuses.includes(answer)) {
          refused.push(`${request.operation}: ${answer}`);
        }
      }
    }
    return { ms, refused };
  }

  /** The status, or why there is none. */
  async #send({ method, path, body, form, keeps, isAdmin }: PoliteRequest): Promise<number | string> {
    const { port, politeKey, adminKey } = this.#target;
    const sent = form?.() ?? (body === undefined ? null : JSON.stringify(body));
    try {
      const response = await fetch(`http://127.0.0.1:${port}${named(path, this.#known)}`, {
        method,
        headers: {
          authorization: `Bearer ${isAdmin ? adminKey : politeKey}`,
          ...(typeof sent === 'string' && { 'content-type': 'application/json' }),
        },
        body: sent,
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
        await response.body?.cancel();
        return response.status;
      }
      const text = await response.text();
      if (keeps !== undefined && response.ok) this.#keep(keeps, (JSON.parse(text) as { id: string }).id);
      return response.status;
    } catch (error) {
      return String(error);
    }
  }

  #keep(name: string, id: string): void {
    this.#known = { ...this.#known, [name]: id };
  }
}
