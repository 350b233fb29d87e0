/** Rows under a head, each column as wide as its widest cell. Cells come from elsewhere, so control characters are left out. */
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

/** Text that cannot move a terminal's cursor or change its colours; lines stay lines. */
export const plain = (text: string): string => text.replace(/(?!\n)\p{Cc}/gu, '�');

/** 850 ms, 12.3 s, 4 min 5 s. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
