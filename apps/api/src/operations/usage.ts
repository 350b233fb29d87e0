/**
 * The use of days: how many jobs ended and how much device time they took, per tenant, key and model. Jobs are counted by the scripts that
 * end them (records/count-use.lua); here the days of a range are read and summed up.
 */
import type { Clock, TenantId, UsagePart, UsageRow } from '@lehr/shared';
import { type Keys, type Redis, repliesOf } from '@lehr/shared/redis';
import { refusal } from '../base/field-problems.ts';
import { TenantTurns } from '../http/bodies/tenant-turns.ts';

export const DAY_MS = 86_400_000;
/** Days of one call. */
export const MAX_DAYS = 400;
const MAX_ROWS = 10_000;
/** Hashes in one pipeline, and about how many counters of them: other commands and requests come between two pipelines. */
const READ_AT_ONCE = 32;
const COUNTERS_AT_ONCE = 2_000;
/** Read counters, for each ms that the tenant's next read waits: about what they took of the event loop. */
const COUNTERS_PER_MS = 500;

export interface UsageQuery {
  /** First and last day, by their numbers from 1970. */
  readonly from: number;
  readonly to: number;
  readonly by: readonly UsagePart[];
  /** Undefined for all tenants. */
  readonly tenant?: TenantId | undefined;
  readonly key?: string | undefined;
  /** `name` or `name@version`. */
  readonly model?: string | undefined;
}

export interface UsageParts {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly clock: Clock;
  /** Of an hour of device time. */
  readonly devicePrice: number | undefined;
}

type Counts = Omit<UsageRow, UsagePart>;
/** By `s`ucceeded, `f`ailed, `c`anceled, `e`xpired, and microseconds (`us`) of device time. */
type Numbers = Record<string, number>;
interface Counter extends Record<UsagePart, string> {
  readonly what: string;
  readonly number: number;
}
interface Group {
  readonly of: Counter;
  readonly numbers: Numbers;
}

const NONE = '-';
const HOUR_US = 3_600_000_000;

export const dayNumber = (ms: number): number => Math.floor(ms / DAY_MS);
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export class UsageView {
  readonly #parts: UsageParts;
  readonly #turns = new TenantTurns(Number.POSITIVE_INFINITY);

  constructor(parts: UsageParts) {
    this.#parts = parts;
  }

  /** `reader`: whose turn it takes. A tenant reads one range at a time. */
  async read(reader: TenantId, query: UsageQuery): Promise<{ rows: UsageRow[]; total: Counts }> {
    const { rows, total } = await this.#turns.run(
      reader,
      () => this.#read(query),
      ({ counters }) => this.#parts.clock.sleep(counters / COUNTERS_PER_MS),
    );
    return { rows, total };
  }

  async #read(query: UsageQuery): Promise<{ rows: UsageRow[]; total: Counts; counters: number }> {
    const { by } = query;
    const groups = new Map<string, Group>();
    const total: Numbers = {};
    let counters = 0;
    for await (const some of this.#counters(query)) {
      counters += some.length;
      for (const counter of some.filter((each) => isWanted(each, query))) {
        const name = by.map((part) => counter[part]).join('\n');
        const group = groups.get(name) ?? { of: counter, numbers: {} };
        groups.set(name, group);
        for (const numbers of [group.numbers, total])
          numbers[counter.what] = (numbers[counter.what] ?? 0) + counter.number;
      }
      if (groups.size > MAX_ROWS)
        throw refusal('invalid-request', [
          { pointer: '?by', detail: `gives more than ${MAX_ROWS} rows: ask for fewer days or parts` },
        ]);
    }
    const rows = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => this.#row(group, by));
    return { rows, total: this.#counts(total), counters };
  }

  /** The counters of some hashes at a time. */
  async *#counters({ from, to, tenant }: UsageQuery): AsyncGenerator<readonly Counter[]> {
    const { redis, keys } = this.#parts;
    const days = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    const hashes = tenant === undefined ? await this.#tenants(days) : days.map((day) => ({ day, tenant }));
    let atOnce = 1;
    for (let i = 0; i < hashes.length; ) {
      const some = hashes.slice(i, i + atOnce);
      i += atOnce;
      const pipeline = redis.pipeline();
      for (const each of some) pipeline.hgetall(keys.usage(each.day, each.tenant));
      const replies = repliesOf(await pipeline.exec()) as Record<string, string>[];
      const found = replies.map((hash, at) => countersOf(hash, some[at]));
      const largest = Math.max(...found.map(({ length }) => length));
      atOnce = Math.max(1, Math.min(READ_AT_ONCE, Math.floor(COUNTERS_AT_ONCE / Math.max(1, largest))));
      yield found.flat();
    }
  }

  async #tenants(days: readonly number[]): Promise<{ day: number; tenant: TenantId }[]> {
    const { redis, keys } = this.#parts;
    const found: { day: number; tenant: TenantId }[] = [];
    for (let i = 0; i < days.length; i += READ_AT_ONCE) {
      const some = days.slice(i, i + READ_AT_ONCE);
      const pipeline = redis.pipeline();
      for (const day of some) pipeline.smembers(keys.usageTenants(day));
      const replies = repliesOf(await pipeline.exec()) as TenantId[][];
      for (const [at, tenants] of replies.entries())
        for (const tenant of tenants) found.push({ day: some[at], tenant });
    }
    return found;
  }

  #row({ of, numbers }: Group, by: readonly UsagePart[]): UsageRow {
    const parts = Object.fromEntries(by.map((part) => [part, of[part] === NONE ? null : of[part]]));
    return { ...(parts as Pick<UsageRow, UsagePart>), ...this.#counts(numbers) };
  }

  #counts({ s: succeeded = 0, f: failed = 0, c: canceled = 0, e: expired = 0, us = 0 }: Numbers): Counts {
    const { devicePrice } = this.#parts;
    return {
      jobs: succeeded + failed + canceled + expired,
      ...{ succeeded, failed, canceled, expired },
      device_s: Math.round(us / 1000) / 1000,
      ...(devicePrice !== undefined && { price: Math.round((us / HOUR_US) * devicePrice * 1e6) / 1e6 }),
    };
  }
}

const countersOf = (
  hash: Record<string, string>,
  { day, tenant }: { readonly day: number; readonly tenant: TenantId },
): Counter[] => {
  const date = dateOf(day);
  return Object.entries(hash).map(([name, number]) => {
    const [key, model, what] = name.split(' ');
    return { day: date, tenant, key, model, what, number: Number(number) };
  });
};

const isWanted = (counter: Counter, { key, model }: UsageQuery): boolean =>
  (key === undefined || counter.key === key) &&
  (model === undefined || counter.model === model || counter.model.startsWith(`${model}@`));

const COUNTS = ['jobs', 'succeeded', 'failed', 'canceled', 'expired', 'device_s', 'price'] as const;
/** A spreadsheet would run a cell that begins so. */
const FORMULA = /^[=+\-@\t\r]/;

/** The rows for spreadsheets (RFC 4180): a header, and a line for each row. The price is in it when the rows have one, with the currency. */
export function usageCsv(
  rows: readonly UsageRow[],
  by: readonly UsagePart[],
  { currency, hasPrice }: { readonly currency: string | undefined; readonly hasPrice: boolean },
): string {
  const columns = [...by, ...COUNTS.filter((name) => name !== 'price' || hasPrice)];
  const named = hasPrice && currency !== undefined;
  const lines = [
    [...columns, ...(named ? ['currency'] : [])],
    ...rows.map((row) => [...columns.map((name) => row[name] ?? ''), ...(named ? [currency] : [])]),
  ];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

export function csvCell(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
