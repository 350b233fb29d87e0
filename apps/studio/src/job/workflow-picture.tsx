/** A workflow as a picture: its nodes with their states, and what each one uses. A node that has a job leads to it. */
import type { Job, NodeState } from '@lehr/client';
import { Link } from '../parts/link.tsx';
import { texts } from '../texts/index.ts';
import { type PlacedNode, workflowLayout } from './workflow-layout.ts';

/** Pixels. */
const NODE = { width: 172, height: 76 };
const GAP = { x: 56, y: 20 };

const leftOf = (column: number): number => column * (NODE.width + GAP.x);
const topOf = (row: number): number => row * (NODE.height + GAP.y);

export function WorkflowPicture({ job }: { readonly job: Job }) {
  if (!job.nodes || job.nodes.length === 0) return null;
  const { nodes, edges, columns, rows } = workflowLayout(job);
  const width = leftOf(columns) - GAP.x;
  const height = topOf(rows) - GAP.y;
  const places = new Map(nodes.map((placed) => [placed.node.id, placed]));
  return (
    <section class="card">
      <h2>{texts.job.workflow}</h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable with the keyboard */}
      <section class="workflow" tabIndex={0} aria-label={texts.job.workflow}>
        <div class="workflow-bed" style={{ width: `${width}px`, height: `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true" focusable="false">
            {edges.map(([from, to]) => (
              <Edge key={`${from} ${to}`} from={places.get(from)} to={places.get(to)} />
            ))}
          </svg>
          <ol>
            {nodes.map((placed) => (
              <NodeBox key={placed.node.id} placed={placed} uses={usesOf(placed.node.id, edges)} />
            ))}
          </ol>
        </div>
      </section>
    </section>
  );
}

const usesOf = (id: string, edges: readonly (readonly [string, string])[]): readonly string[] =>
  edges.filter(([, to]) => to === id).map(([from]) => from);

interface EdgeProps {
  readonly from: PlacedNode | undefined;
  readonly to: PlacedNode | undefined;
}

function Edge({ from, to }: EdgeProps) {
  if (!from || !to) return null;
  const x1 = leftOf(from.column) + NODE.width;
  const y1 = topOf(from.row) + NODE.height / 2;
  const x2 = leftOf(to.column);
  const y2 = topOf(to.row) + NODE.height / 2;
  const bend = GAP.x * 0.6;
  const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  return <path class="workflow-edge" data-status={from.node.status} d={path} />;
}

interface NodeBoxProps {
  readonly placed: PlacedNode;
  readonly uses: readonly string[];
}

function NodeBox({ placed: { node, column, row }, uses }: NodeBoxProps) {
  const style = {
    left: `${leftOf(column)}px`,
    top: `${topOf(row)}px`,
    width: `${NODE.width}px`,
    height: `${NODE.height}px`,
  };
  return (
    <li class="workflow-node" data-status={node.status} style={style}>
      {node.job === null ? (
        <span class="workflow-face">
          <Face node={node} />
        </span>
      ) : (
        <Link to={{ name: 'job', id: node.job }} class="workflow-face">
          <Face node={node} />
        </Link>
      )}
      {uses.length > 0 && <span class="hidden">{texts.job.nodeUses(uses.join(', '))}</span>}
      {node.progress && (
        <span class="workflow-progress" aria-hidden="true">
          <span style={{ width: `${node.progress.fraction * 100}%` }} />
        </span>
      )}
    </li>
  );
}

function Face({ node: { id, model, status, progress, error } }: { readonly node: NodeState }) {
  const state = texts.job.nodeStates[status];
  return (
    <>
      <strong>{id}</strong>
      <span class="workflow-model">{model}</span>
      <span class="workflow-state" title={error?.detail}>
        {progress ? `${state}, ${texts.job.percent(progress.fraction)}` : state}
      </span>
    </>
  );
}
