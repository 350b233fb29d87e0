/** Checks that a list of nodes can run as a workflow: every reference names a field of another node, without cycles. */
import type { FieldProblem } from '../../base/errors.ts';
import { isTextJobType, MAX_INLINE_TEXT_BYTES } from '../../contracts/text.ts';
import type { WorkflowNode } from '../../contracts/workflow.ts';
import {
  findReferences,
  OFFERED_FIELDS,
  pictureFieldAt,
  pictureReference,
  type Reference,
} from './references.ts';

/** Texts of one node that may refer to other nodes. */
const MAX_FILLED_TEXTS = 8;

export interface PlannedNode {
  readonly node: WorkflowNode;
  /** Ids of the nodes that must succeed first. */
  readonly after: readonly string[];
}

export interface Plan {
  /** In an order in which they could run one after the other. */
  readonly nodes: readonly PlannedNode[];
  /** Why the workflow cannot run; pointers start at the list of nodes. */
  readonly problems: readonly FieldProblem[];
}

export function planWorkflow(nodes: readonly WorkflowNode[]): Plan {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const planned = nodes.map((node) => ({
    node,
    after: [...new Set(findReferences(node.input).map((ref) => ref.node))],
  }));
  const problems = [
    ...repeatedIds(nodes),
    ...nodes.flatMap(textProblems),
    ...nodes.flatMap((node, i) =>
      findReferences(node.input).flatMap((reference): FieldProblem[] => {
        const wrong = problemOf(reference, node, byId);
        return wrong ? [{ pointer: `/nodes/${i}/input${reference.pointer}`, detail: wrong }] : [];
      }),
    ),
  ];
  if (problems.length > 0) return { nodes: planned, problems };
  return inOrder(planned);
}

/** Filled texts stay in the record, so a node with references has few of them and keeps no texts in the object store. */
function textProblems({ type, input }: WorkflowNode, i: number): FieldProblem[] {
  if (!isTextJobType(type) || !('texts' in input)) return [];
  const { size } = new Set(findReferences(input).map(({ pointer }) => pointer));
  const at = { pointer: `/nodes/${i}/input/texts` };
  if (size > MAX_FILLED_TEXTS) {
    return [{ ...at, detail: `refer to other nodes in ${size} texts; at most ${MAX_FILLED_TEXTS} may` }];
  }
  if (size > 0 && Buffer.byteLength(JSON.stringify(input.texts)) > MAX_INLINE_TEXT_BYTES) {
    const most = `${MAX_INLINE_TEXT_BYTES} bytes of JSON`;
    return [{ ...at, detail: `refer to other nodes, so they may have at most ${most}` }];
  }
  return [];
}

function repeatedIds(nodes: readonly WorkflowNode[]): FieldProblem[] {
  return nodes.flatMap(({ id }, i) =>
    nodes.findIndex((node) => node.id === id) < i
      ? [{ pointer: `/nodes/${i}/id`, detail: `${id} is the id of another node too` }]
      : [],
  );
}

function problemOf(
  { node: id, field, pointer }: Reference,
  { input }: WorkflowNode,
  byId: ReadonlyMap<string, WorkflowNode>,
): string | undefined {
  if (pointer === '/audio') return 'must name the audio itself and not refer to another node';
  const wrong = wrongReference(id, field, byId);
  if (wrong) return wrong;
  const value = pictureFieldAt(input, pointer);
  const isPicture = field === 'image' || field === 'latent';
  if (value === undefined)
    return isPicture
      ? 'refers to a picture, which only the fields image and mask, and the image of a control, take'
      : undefined;
  if (pictureReference(value)?.node !== id) {
    return 'must be one reference to a picture, such as {{node.image}}, and nothing else';
  }
  return pointer !== '/image' && field === 'latent'
    ? 'refers to a latent, which only the field image takes'
    : undefined;
}

function wrongReference(
  id: string,
  field: string,
  byId: ReadonlyMap<string, WorkflowNode>,
): string | undefined {
  const target = byId.get(id);
  if (!target) return `refers to ${id}, which is not a node of this workflow`;
  const offered: readonly string[] = OFFERED_FIELDS[target.type];
  if (field === 'latent' && target.type === 'text-to-image' && (target.input.denoising_end ?? 1) === 1) {
    return `refers to ${id}.latent; only a node with a denoising_end below 1 has one`;
  }
  if (offered.includes(field)) return undefined;
  const choice = offered.length > 0 ? `only ${offered.join(', ')}` : 'nothing to refer to';
  return `refers to ${id}.${field}; a ${target.type} node offers ${choice}`;
}

/** Kahn's algorithm; the nodes left over form a cycle. */
function inOrder(planned: readonly PlannedNode[]): Plan {
  const ordered: PlannedNode[] = [];
  let left = [...planned];
  while (left.length > 0) {
    const ready = left.filter(({ after }) => after.every((id) => ordered.some(({ node }) => node.id === id)));
    if (ready.length === 0) {
      const cycle = left.map(({ node }) => node.id).join(', ');
      const problems = left.map(({ node }) => ({
        pointer: `/nodes/${planned.findIndex((each) => each.node === node)}`,
        detail: `waits for itself: ${cycle} refer to one another in a cycle`,
      }));
      return { nodes: planned, problems };
    }
    ordered.push(...ready);
    left = left.filter((each) => !ready.includes(each));
  }
  return { nodes: ordered, problems: [] };
}
