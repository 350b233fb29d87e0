/** Where the nodes of a workflow stand in its picture: each in the column after the last node that it uses. Pure. */
import type { Job, NodeState } from '@lehr/client';

export interface PlacedNode {
  readonly node: NodeState;
  readonly column: number;
  readonly row: number;
}

export interface WorkflowLayout {
  readonly nodes: readonly PlacedNode[];
  /** From a node to one that uses its result, by their ids. */
  readonly edges: readonly (readonly [from: string, to: string])[];
  readonly columns: number;
  readonly rows: number;
}

const REFERENCE = /\{\{\s*([a-z][a-z0-9_-]*)\./g;

/** The API has accepted the workflow, so it has no cycles. */
export function workflowLayout({ nodes = [], input }: Pick<Job, 'nodes' | 'input'>): WorkflowLayout {
  const used = new Map(nodes.map(({ id }, i) => [id, usedBy(id, i, nodes, input)]));
  const columns = new Map<string, number>();
  const columnOf = (id: string): number => {
    const known = columns.get(id);
    if (known !== undefined) return known;
    const column = Math.max(-1, ...(used.get(id) ?? []).map(columnOf)) + 1;
    columns.set(id, column);
    return column;
  };
  const taken: number[] = [];
  const placed = nodes.map((node) => {
    const column = columnOf(node.id);
    const row = taken[column] ?? 0;
    taken[column] = row + 1;
    return { node, column, row };
  });
  return {
    nodes: placed,
    edges: [...used].flatMap(([to, from]) => from.map((each) => [each, to] as const)),
    columns: taken.length,
    rows: Math.max(0, ...taken),
  };
}

/** A job of two fixed nodes, such as speech to image, has no nodes in its input: each node uses the one before. */
function usedBy(id: string, index: number, nodes: readonly NodeState[], input: Job['input']): string[] {
  const given = input.nodes as readonly { readonly id: string; readonly input: unknown }[] | undefined;
  if (!given) return index === 0 ? [] : [nodes[index - 1].id];
  const text = JSON.stringify(given.find((each) => each.id === id)?.input ?? {});
  const ids = new Set(nodes.map((each) => each.id));
  return [...new Set([...text.matchAll(REFERENCE)].map(([, name]) => name))].filter((name) => ids.has(name));
}
