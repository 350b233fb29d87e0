/** One chart: its question, its lines over time, and a table with their last and highest values. */
import type { Chart } from '@lehr/client';
import type { Signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { axisText, timeText, valueText } from './format.ts';
import { type Line, linesOf } from './lines.ts';
import { PlotArea } from './plot-area.tsx';

export interface ChartCardProps {
  readonly chart: Chart;
  /** Unix seconds of each point. */
  readonly times: readonly number[];
  readonly stepS: number;
  /** The point that is pointed at, in any chart of the page. */
  readonly pointed: Signal<number | undefined>;
}

export function ChartCard({ chart, times, stepS, pointed }: ChartCardProps) {
  const { question, unit, empty = texts.charts.empty } = wordsOf(chart);
  const lines = useMemo(() => linesOf(chart.series), [chart]);
  const id = `chart-${chart.name}`;
  return (
    <section class="card chart" aria-labelledby={id}>
      <header class="chart-head">
        <h2 id={id}>{question}</h2>
        <p class="hint">{unit}</p>
      </header>
      {chart.problem !== null && <p class="chart-none fault">{chart.problem}</p>}
      {chart.problem === null && lines.length === 0 && <p class="chart-none">{empty}</p>}
      {lines.length > 0 && (
        <>
          <PlotArea
            lines={lines}
            times={times}
            format={(value) => axisText(chart.unit, value)}
            onPoint={(index) => {
              pointed.value = index;
            }}
          />
          <Values chart={chart} lines={lines} times={times} stepS={stepS} pointed={pointed} />
        </>
      )}
    </section>
  );
}

interface Words {
  readonly question: string;
  readonly unit: string;
  readonly empty?: string;
}

const wordsOf = ({ name }: Chart): Words => texts.charts.of[name];

function Values({
  chart,
  lines,
  times,
  stepS,
  pointed,
}: ChartCardProps & { readonly lines: readonly Line[] }) {
  const at = pointed.value;
  const time = at === undefined ? undefined : times[at];
  const { line, now, highest, none } = texts.charts.table;
  const shown = (value: number | null | undefined): string =>
    value == null ? none : valueText(chart.unit, value);
  return (
    <div class="chart-values">
      <table>
        <caption class="hidden">{wordsOf(chart).question}</caption>
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">{line}</span>
            </th>
            <th scope="col">{time === undefined ? now : timeText(time, stepS)}</th>
            <th scope="col">{highest}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((each) => (
            <tr key={each.name}>
              <th scope="row">
                <span class="chart-key" style={{ background: `var(${each.colour})` }} aria-hidden="true" />
                {each.label}
              </th>
              <td>{shown(at === undefined ? each.last : each.values[at])}</td>
              <td>{shown(each.highest)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {chart.more_series > 0 && <p class="hint">{texts.charts.more(chart.more_series)}</p>}
    </div>
  );
}
