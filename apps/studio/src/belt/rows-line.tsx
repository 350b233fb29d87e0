/** How many rows shared a call of the model over the last minute: a small line, with the present value. */
import { texts } from '../texts/index.ts';
import { type BeltLane, HISTORY } from './belt-state.ts';

const WIDTH = 120;
const HEIGHT = 36;

export function RowsLine({
  lane: { history, row_cap: cap, calls_per_s: calls },
}: {
  readonly lane: BeltLane;
}) {
  const now = history.at(-1) ?? 0;
  const line = pointsOf(history, cap);
  return (
    <div class="rows-line">
      <p class="rows-now">
        <strong>{texts.belt.perCallValue(now)}</strong> {texts.belt.perCall}
      </p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        aria-hidden="true"
        focusable="false"
        class="rows-chart"
      >
        <path class="rows-cap" d={`M0 1H${WIDTH}`} />
        {line.length > 1 && <path class="rows-area" d={`M${line[0].x} ${HEIGHT}L${text(line)}V${HEIGHT}Z`} />}
        {line.length > 1 && <path class="rows-path" d={`M${text(line)}`} />}
      </svg>
      <p class="rows-hint">
        <span>{texts.belt.lastMinute}</span>
        <span>{calls > 0 && texts.belt.calls(calls)}</span>
      </p>
    </div>
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The newest value is at the right edge; the dashed line at the top is the row cap. */
function pointsOf(history: readonly number[], cap: number): Point[] {
  const step = WIDTH / (HISTORY - 1);
  return history.map((value, i) => ({
    x: WIDTH - (history.length - 1 - i) * step,
    y: 1 + (HEIGHT - 2) * (1 - Math.min(1, value / cap)),
  }));
}

const text = (points: readonly Point[]): string =>
  points.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join('L');
