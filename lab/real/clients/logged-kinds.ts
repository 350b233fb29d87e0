/** The errors that a server logged, in few words. */

interface LogLine {
  readonly msg?: string;
  readonly method?: string;
  readonly path?: string;
  readonly error?: { readonly message?: string };
}

/** How many lines there are of each kind (request, message and error), the most frequent kind first. */
export function loggedKinds(lines: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const kind = kindOf(line);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const kinds = [...counts].sort(([, a], [, b]) => b - a);
  return kinds.map(([kind, count]) => `${count} x ${kind}`).join('; ');
}

/** A line that is no JSON, such as a stack of Node, stands for itself. */
function kindOf(line: string): string {
  let logged: LogLine;
  try {
    logged = JSON.parse(line) as LogLine;
  } catch {
    return line.slice(0, 200);
  }
  const { method, path, msg, error } = logged;
  const request = method && path ? `${method} ${path}: ` : '';
  return `${request}${[msg, error?.message].filter(Boolean).join(': ')}`.slice(0, 200);
}
