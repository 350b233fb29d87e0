/** Aligns rows under a header. Cells contain text of callers, so control characters are replaced. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(plain))];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i].length)));
  return all
    .map(
      (row) =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i]))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Replaces control characters, which could move a terminal's cursor or change its colours. Keeps line breaks. */
export const plain = (text: string): string => text.replace(/(?!\n)\p{Cc}/gu, '�');

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Formats an amount of data, as in 512 B, 3.4 MB or 1.7 GB. */
export function bytesText(bytes: number): string {
  const power = Math.min(Math.floor(Math.log10(Math.max(1, bytes)) / 3), BYTE_UNITS.length - 1);
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${BYTE_UNITS[power]}`;
}

/** Formats a duration, as in 850 ms, 12.3 s or 4 min 5 s. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
