/** Draws a received trace as a picture for docs/traces.md: one row per span, steps that follow each other in one row. */
import { writeFile } from 'node:fs/promises';
import type { ReceivedSpan } from '../support/otlp-receiver.ts';

const FILE = new URL('../../docs/speech-to-image-trace.svg', import.meta.url);

const [WIDTH, LABELS, ROW, TOP] = [960, 270, 26, 58];
const PLOT = WIDTH - LABELS - 24;
const COLOURS = ['#e4572e', '#2a9d8f', '#8367c7'];

interface Row {
  readonly label: string;
  readonly depth: number;
  readonly service: string;
  readonly spans: readonly ReceivedSpan[];
}

const startOf = ({ startTimeUnixNano }: ReceivedSpan): number => Number(startTimeUnixNano / 1000n) / 1000;
const endOf = ({ endTimeUnixNano }: ReceivedSpan): number => Number(endTimeUnixNano / 1000n) / 1000;

/** Writes the picture when TRACE_PICTURE is `write`. `root` is the span that all others are below of. */
export async function drawTrace(root: ReceivedSpan, spans: readonly ReceivedSpan[]): Promise<void> {
  // biome-ignore lint/suspicious/noUndeclaredEnvVars: no task of turbo runs this
  if (process.env.TRACE_PICTURE !== 'write') return;
  await writeFile(FILE, pictureOf(rowsOf([root], spans, 0)));
}

function rowsOf(level: readonly ReceivedSpan[], all: readonly ReceivedSpan[], depth: number): Row[] {
  const sorted = [...level].sort((a, b) => startOf(a) - startOf(b));
  const steps = sorted.filter(({ name }) => name === 'unet step');
  return sorted.flatMap((span) => {
    if (steps.includes(span) && span !== steps[0]) return [];
    const isSteps = span === steps[0];
    const children = all.filter(({ parentSpanId }) => parentSpanId === span.spanId);
    const row = {
      label: isSteps ? `unet step × ${steps.length}` : span.name,
      depth,
      service: String(span.service),
      spans: isSteps ? steps : [span],
    };
    return [row, ...rowsOf(children, all, depth + 1)];
  });
}

function pictureOf(rows: readonly Row[]): string {
  const spans = rows.flatMap((row) => row.spans);
  const from = Math.min(...spans.map(startOf));
  const lastMs = Math.max(...spans.map(endOf)) - from;
  const x = (ms: number): number => LABELS + (ms / lastMs) * PLOT;
  const services = [...new Set(rows.map(({ service }) => service))];
  const colour = (service: string): string => COLOURS[services.indexOf(service) % COLOURS.length];
  const height = TOP + rows.length * ROW + 16;
  const legend = services.map(
    (service, i) =>
      `<rect x="${LABELS + i * 130}" y="14" width="12" height="12" rx="3" fill="${colour(service)}"/>` +
      `<text x="${LABELS + 18 + i * 130}" y="24">${service}</text>`,
  );
  const lines = ticksOf(lastMs).map(
    (ms) =>
      `<line class="grid" x1="${x(ms)}" x2="${x(ms)}" y1="${TOP - 8}" y2="${height - 12}"/>` +
      `<text class="tick" x="${x(ms)}" y="${TOP - 14}">${ms} ms</text>`,
  );
  const bars = rows.map(({ label, depth, service, spans: row }, i) => {
    const y = TOP + i * ROW;
    const rects = row.map((span) => {
      const left = x(startOf(span) - from);
      const width = Math.max(2, x(endOf(span) - from) - left - (row.length > 1 ? 1 : 0));
      return `<rect x="${left.toFixed(1)}" y="${y + 4}" width="${width.toFixed(1)}" height="${ROW - 10}" rx="3" fill="${colour(service)}"/>`;
    });
    return `<text x="${16 + depth * 16}" y="${y + 17}">${label}</text>${rects.join('')}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="ui-sans-serif, system-ui, sans-serif" font-size="13">
<title>A speech-to-image request as one trace</title>
<style>
  .paper { fill: #fffdf9 } text { fill: #2b2622 } .tick { fill: #756b62; font-size: 11px; text-anchor: middle } .grid { stroke: #e6ded3 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #1b1816 } text { fill: #efe7dd } .tick { fill: #a3978a } .grid { stroke: #383029 }
  }
</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="12"/>
${[...legend, ...lines, ...bars].join('\n')}
</svg>
`;
}

/** Four to eight round times. */
function ticksOf(lastMs: number): number[] {
  const rough = lastMs / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * unit).find((each) => each >= rough) ?? rough;
  return Array.from({ length: Math.floor(lastMs / step) + 1 }, (_, i) => Math.round(i * step));
}
