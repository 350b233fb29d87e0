/** Resolves a workflow: every node as if it were requested alone, each with its own job id. */
import {
  type FieldProblem,
  findReferences,
  type JobRequest,
  LehrError,
  newJobId,
  planWorkflow,
  type Registry,
  speechToImageNodes,
  type WorkflowNode,
} from '@lehr/shared';
import { WORKFLOW_QUEUE } from '@lehr/shared/queue';
import type { WorkflowState } from '@lehr/shared/records';
import { refusal } from '../base/field-problems.ts';
import { type Resolution, type ResolveContext, type ResolveParts, resolveWork } from './resolve.ts';

type NodeInput = Pick<WorkflowNode, 'id' | 'type'> & Pick<Resolution, 'input'>;

export type WorkflowRequest = Extract<JobRequest, { type: 'speech-to-image' | 'workflow' }>;

/** Throws `model-not-found` and `invalid-input`, with pointers into the request as it was posted. */
export async function resolveWorkflow(
  parts: ResolveParts,
  context: ResolveContext,
  request: WorkflowRequest,
): Promise<Resolution> {
  const nodes =
    request.type === 'workflow' ? request.nodes : speechToImageNodes(request.input, request.model);
  const plan = planWorkflow(nodes);
  if (plan.problems.length > 0) throw refusal('invalid-input', asPosted(request, plan.problems));
  const resolved = await Promise.all(
    plan.nodes.map(async ({ node, after }) => {
      const at = request.type === 'workflow' ? `/nodes/${nodes.indexOf(node)}` : '';
      const work = await within(at, resolveWork(parts, { ...context, name: node.id, isNode: true }, node));
      return { node, after, work };
    }),
  );
  checkResults(parts.registry, nodes, new Map(resolved.map(({ node, work }) => [node.id, work])));
  const workflow: WorkflowState = {
    nodes: resolved.map(({ node, after, work: { attachments: _, input: __, ...work } }) => ({
      ...work,
      id: node.id,
      job: newJobId(),
      after: [...after],
    })),
    concurrency: request.concurrency,
  };
  return {
    type: request.type,
    model: [...new Set(workflow.nodes.map(({ model }) => model))].join('+'),
    queue: WORKFLOW_QUEUE,
    cost: workflow.nodes.reduce((sum, { cost }) => sum + cost, 0),
    input: storedInput(
      request,
      nodes.map(({ id, type }) => {
        const input = resolved.find(({ node }) => node.id === id)?.work.input ?? {};
        return { id, type, input };
      }),
    ),
    workflow,
    attachments: resolved.flatMap(({ work }) => work.attachments),
  };
}

/** A node that transforms a picture has a picture or labels, as its model says. Throws `invalid-input` for references to what it has not. */
function checkResults(
  registry: Registry,
  nodes: readonly WorkflowNode[],
  works: ReadonlyMap<string, Resolution>,
): void {
  const problems = nodes.flatMap(({ input }, i) =>
    findReferences(input).flatMap(({ node, field, pointer }): FieldProblem[] => {
      const entry = registry.named(works.get(node)?.model ?? '');
      if (entry?.task !== 'transform') return [];
      const has = entry.result === 'class' ? 'labels' : 'image';
      if (field === has) return [];
      const detail = `refers to ${node}.${field}; of the model ${entry.name} it has ${node}.${has}`;
      return [{ pointer: `/nodes/${i}/input${pointer}`, detail }];
    }),
  );
  if (problems.length > 0) throw refusal('invalid-input', problems);
}

/** The inputs of the nodes, as posted, and of a spoken picture what no node has: the language and task as the caller gave them. */
function storedInput(request: WorkflowRequest, nodes: readonly NodeInput[]): Record<string, unknown> {
  if (request.type === 'workflow') return { nodes };
  const { audio: _, ...posted } = request.input;
  const picture = nodes[1].input;
  return { ...Object.fromEntries(Object.entries(posted).filter(([name]) => !(name in picture))), nodes };
}

/** Pointers into the request as posted: a speech-to-image request has no nodes. */
const asPosted = ({ type }: WorkflowRequest, problems: readonly FieldProblem[]): readonly FieldProblem[] =>
  type === 'workflow'
    ? problems
    : problems.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/nodes\/\d+/, ''), detail }));

/** Prefixes the pointers of a refusal with `at`, the place of the node in the request. */
async function within<T>(at: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof LehrError) || at === '') throw error;
    const problems: FieldProblem[] = error.problems.map(({ pointer, detail }) => ({
      pointer: `${at}${pointer}`,
      detail,
    }));
    throw new LehrError(error.code, `${at.slice(1).replaceAll('/', '.')}: ${error.message}`, {
      cause: error,
      problems,
    });
  }
}
