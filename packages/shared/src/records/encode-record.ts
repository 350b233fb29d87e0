/** The fields of a record as Redis keeps them: strings, objects as JSON. */
import type { JobRecord, NewJob } from './record.ts';

export function encodeFields(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  const encoded: Record<string, string> = {};
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined) continue;
    encoded[name] = typeof value === 'object' ? JSON.stringify(value) : String(value);
  }
  return encoded;
}

/** A whole record. */
export const encodeRecord = (record: NewJob | JobRecord): Record<string, string> =>
  encodeFields({ ...record });
