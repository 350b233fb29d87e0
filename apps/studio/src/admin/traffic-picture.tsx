/** Draws the traffic as SVG. The table beside it has the same numbers for those who do not see it. */
import type { Traffic } from '@lehr/client';
import { texts } from '../texts/index.ts';
import {
  hasLabel,
  paceOf,
  type TrafficEdge,
  type TrafficNode,
  type TrafficPicture,
  thicknessOf,
} from './traffic-layout.ts';

const words = texts.admin.traffic;
/** Letters that fit into a node. */
const MAX_NAME = 22;

interface PictureProps {
  readonly picture: TrafficPicture;
  readonly traffic: Traffic;
}

export function Picture({ picture: { width, height, nodes, edges }, traffic }: PictureProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable with the keyboard
    <section class="traffic-scroll" tabIndex={0} aria-label={words.label}>
      <svg class="traffic-picture" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={words.label}>
        {edges.map((edge) => (
          <Line key={`${edge.from} ${edge.to}`} edge={edge} />
        ))}
        {nodes.map((node) => (
          <Box key={node.id} node={node} traffic={traffic} />
        ))}
        {edges.map((edge) => (
          <Label key={`${edge.from} ${edge.to}`} edge={edge} />
        ))}
      </svg>
    </section>
  );
}

function Line({ edge: { path, rate, bad } }: { readonly edge: TrafficEdge }) {
  const width = thicknessOf(rate);
  return (
    <g class="traffic-edge" data-pace={paceOf(rate)} data-bad={bad > 0}>
      <path class="traffic-bed" d={path} style={{ strokeWidth: `${width}px` }} />
      <path class="traffic-flow" d={path} style={{ strokeWidth: `${Math.max(2, width / 2)}px` }} />
    </g>
  );
}

function Label({ edge }: { readonly edge: TrafficEdge }) {
  const { label, rate, bad, ms } = edge;
  if (rate === null || !hasLabel(edge)) return null;
  return (
    <text class="traffic-label" x={label.x} y={label.y} text-anchor="middle">
      <tspan x={label.x} dy={bad > 0 ? '-0.3em' : '0.35em'}>
        {texts.admin.rate(rate)}
        {ms !== null && <tspan class="traffic-ms">{`  ${texts.admin.ms(ms)}`}</tspan>}
      </tspan>
      {bad > 0 && (
        <tspan class="traffic-bad" x={label.x} dy="1.25em">
          {texts.admin.traffic.bad(texts.admin.rate(bad))}
        </tspan>
      )}
    </text>
  );
}

interface BoxProps {
  readonly node: TrafficNode;
  readonly traffic: Traffic;
}

function Box({ node, traffic }: BoxProps) {
  const { x, y, width, height, kind } = node;
  const { name, note, share = null, state } = contentOf(node, traffic);
  return (
    <g class="traffic-node" data-kind={kind} data-state={state}>
      <rect x={x} y={y} width={width} height={height} rx={12} />
      <text x={x + 14} y={y + (note === '' ? height / 2 + 5 : 24)} class="traffic-name">
        {name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name}
        <title>{name}</title>
      </text>
      <text x={x + 14} y={y + 43} class="traffic-note">
        {note}
      </text>
      {share !== null && (
        <text x={x + width - 12} y={y + 43} class="traffic-share" text-anchor="end">
          {words.share(share)}
        </text>
      )}
    </g>
  );
}

interface Content {
  readonly name: string;
  readonly note: string;
  /** Of the callers, from 0 to 1; of a version of a model with several. */
  readonly share?: number | null;
  readonly state: 'good' | 'busy' | 'bad';
}

function contentOf({ id, kind }: TrafficNode, traffic: Traffic): Content {
  const name = id.slice(id.indexOf(' ') + 1);
  switch (kind) {
    case 'api': {
      const own = traffic.apis.find((each) => each.id === name);
      const isFailing = (own?.errors_per_s ?? 0) > 0;
      return { name: words.api, note: name, state: isFailing ? 'bad' : 'good' };
    }
    case 'model': {
      const own = traffic.models.find((each) => each.model === name);
      const { waiting = 0, running = 0, share = null } = own ?? {};
      const note = `${words.waiting(waiting)}, ${words.running(running)}`;
      return { name, note, share, state: waiting > 0 ? 'busy' : 'good' };
    }
    case 'worker': {
      const { state = 'serving' } = traffic.workers.find((each) => each.id === name) ?? {};
      return { name, note: words.states[state], state: state === 'serving' ? 'good' : 'bad' };
    }
    case 'receivers': {
      const { pending, failed_per_s } = traffic.receivers;
      const state = (failed_per_s ?? 0) > 0 ? 'bad' : 'good';
      return { name: words.receivers, note: words.pending(pending), state };
    }
    default:
      return { name: words[kind], note: '', state: 'good' };
  }
}
