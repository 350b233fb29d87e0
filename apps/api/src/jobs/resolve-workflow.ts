/** A job made of jobs, made definite: every node resolved as if it were asked for alone, and each with a job id of its own. */
import {
  type FieldProblem,
  type GraphNode,
  type JobRequest,
  LehrError,
  newJobId,
  planGraph,
  speechToImageNodes,
} from '@lehr/shared';
import { GRAPH_QUEUE } from '@lehr/shared/queue';
import type { GraphState } from '@lehr/shared/records';
import { refusal } from '../field-problems.ts';
import type { Attachment } from './audio-input.ts';
import { type ResolveContext, type ResolvedWork, type ResolveParts, resolveWork } from './resolve.ts';

export interface ResolvedGraph extends Omit<ResolvedWork, 'attached'> {
  readonly graph: GraphState;
  readonly attachments: readonly Attachment[];
  /** Of its first nodes: one of these lines it waits in. */
  readonly entries: readonly { readonly queue: string; readonly model: string }[];
}

export type GraphRequest = Extract<JobRequest, { type: 'speech-to-image' | 'graph' }>;

/** Throws `model-not-found` and `invalid-input`, with pointers into the request as it was posted. */
export async function resolveGraph(
  parts: ResolveParts,
  context: ResolveContext,
  request: GraphRequest,
  weight: number,
): Promise<ResolvedGraph> {
  const nodes = request.type === 'graph' ? request.nodes : speechToImageNodes(request.input, request.model);
  const plan = planGraph(nodes);
  if (plan.problems.length > 0) throw refusal('invalid-input', asPosted(request, plan.problems));
  const resolved = await Promise.all(
    plan.nodes.map(async ({ node, after }) => {
      const at = request.type === 'graph' ? `/nodes/${nodes.indexOf(node)}` : '';
      const work = await within(at, resolveWork(parts, { ...context, name: node.id }, node));
      return { node, after, work };
    }),
  );
  const graph: GraphState = {
    weight,
    nodes: resolved.map(({ node, after, work: { attached: _, ...work } }) => ({
      ...work,
      id: node.id,
      job: newJobId(),
      after: [...after],
    })),
  };
  return {
    type: request.type,
    model: [...new Set(graph.nodes.map(({ model }) => model))].join('+'),
    queue: GRAPH_QUEUE,
    cost: graph.nodes.reduce((sum, { cost }) => sum + cost, 0),
    input: shownInput(request, nodes, graph),
    graph,
    attachments: resolved.flatMap(({ work }) => work.attached ?? []),
    entries: graph.nodes.filter(({ after }) => after.length === 0),
  };
}

/** What the record shows as the job's input: as posted, with the audio by its place and not by its bytes. */
function shownInput(
  request: GraphRequest,
  nodes: readonly GraphNode[],
  graph: GraphState,
): Record<string, unknown> {
  const inputOf = (id: string) => graph.nodes.find((node) => node.id === id)?.input ?? {};
  if (request.type === 'graph') {
    return { nodes: nodes.map(({ id, type }) => ({ id, type, input: inputOf(id) })) };
  }
  const [listen, draw] = nodes.map(({ id }) => inputOf(id));
  const { prompt: _, ...picture } = draw;
  return { ...request.input, ...picture, audio: listen.audio };
}

/** The nodes of a speech-to-image job are nowhere in its request. */
const asPosted = ({ type }: GraphRequest, problems: readonly FieldProblem[]): readonly FieldProblem[] =>
  type === 'graph'
    ? problems
    : problems.map(({ pointer, detail }) => ({ pointer: pointer.replace(/^\/nodes\/\d+/, ''), detail }));

/** The same refusal, as of a part of the request. */
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
