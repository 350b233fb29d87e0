/** The use of days as a table for spreadsheets (RFC 4180). */
import type { UsagePart, UsageRow } from '@lehr/shared';

const COUNTS = ['jobs', 'succeeded', 'failed', 'canceled', 'expired', 'device_s', 'price'] as const;
/** A spreadsheet would run a cell that begins so. */
const FORMULA = /^[=+\-@\t\r]/;

/** A header, and a line for each row. The price is in it when the rows have one, with the currency. */
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
