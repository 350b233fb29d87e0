/** The replies of a pipeline; throws the first error among them. */
export function repliesOf(results: readonly [Error | null, unknown][] | null): unknown[] {
  return (results ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
}
