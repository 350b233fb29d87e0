/** The metrics that a query reads. */

/** Their names, without the suffixes that a histogram's series have. Names of recorded queries have a colon and are left out. */
export function metricsOf(expr: string): string[] {
  const names = expr.match(/\b(?:lehr_|DCGM_|container_|process_|nodejs_)\w+(?!:)\b/g) ?? [];
  return [...new Set(names.map((name) => name.replace(/_(?:bucket|count|sum)$/, '')))];
}
