import { refusal } from '../../base/field-problems.ts';

const MIN_S = 5;
const MAX_S = 7 * 24 * 3600;
const DURATION = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/;

/** Parses `Cancel-After: 90s`, `5m` or `1h30m` into seconds, at most a week. Throws `invalid-request`. */
export function cancelAfterS(header: string): number {
  const [, ...parts] = DURATION.exec(header.trim()) ?? [];
  const [hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
  const wanted = hours * 3600 + minutes * 60 + seconds;
  if (wanted >= MIN_S) return Math.min(wanted, MAX_S);
  const detail = `must be a time of at least ${MIN_S} s, such as 90s, 5m or 1h30m`;
  throw refusal('invalid-request', [{ pointer: '?cancel-after', detail }]);
}
