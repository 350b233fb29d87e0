/** The main metrics over time, as charts. Its code and uPlot are loaded when it is opened. */
import type { ChartList } from '@lehr/client';
import { useEffect, useMemo } from 'preact/hooks';
import { texts } from '../texts/index.ts';
import { ChartCard } from './chart-card.tsx';
import { charts, fault, isLost, pointed, RANGES, range, timesOf, watch } from './reading.ts';

export function ChartsView() {
  const chosen = range.value;
  useEffect(() => watch(chosen), [chosen]);
  const now = charts.value;
  return (
    <div class="charts-view" data-lost={isLost.value}>
      <header class="charts-head">
        <div class="charts-words">
          <h1>{texts.charts.title}</h1>
          <p class="charts-lead">{texts.charts.lead}</p>
        </div>
        {now?.source && <Ranges />}
      </header>
      <p class="lost" role="status">
        {isLost.value && texts.charts.lost}
      </p>
      <p class="fault" role="alert">
        {fault.value?.message}
      </p>
      {now ? <Shown now={now} /> : <p class="charts-loading">{!fault.value && texts.charts.loading}</p>}
    </div>
  );
}

function Shown({ now }: { readonly now: ChartList }) {
  const times = useMemo(() => timesOf(now), [now]);
  if (now.source === null) return <Off />;
  const isYoung = now.data.every(({ series, problem }) => series.length === 0 && problem === null);
  return (
    <>
      {isYoung && <p class="charts-note">{texts.charts.young}</p>}
      <div class="charts-grid">
        {now.data.map((chart) => (
          <ChartCard key={chart.name} chart={chart} times={times} stepS={now.step_s} pointed={pointed} />
        ))}
      </div>
    </>
  );
}

function Ranges() {
  return (
    <fieldset class="segmented">
      <legend class="hidden">{texts.charts.range}</legend>
      {RANGES.map((each) => (
        <label key={each}>
          <input
            type="radio"
            name="range"
            checked={range.value === each}
            onChange={() => {
              range.value = each;
            }}
          />
          <span>{texts.charts.ranges[each]}</span>
        </label>
      ))}
    </fieldset>
  );
}

function Off() {
  const { title, text, local, command, elsewhere, variable } = texts.charts.off;
  return (
    <section class="blank charts-off">
      <Sketch />
      <h2>{title}</h2>
      <p>{text}</p>
      <dl>
        <div>
          <dt>{local}</dt>
          <dd>
            <code>{command}</code>
          </dd>
        </div>
        <div>
          <dt>{elsewhere}</dt>
          <dd>
            <code>{variable}</code>
          </dd>
        </div>
      </dl>
    </section>
  );
}

function Sketch() {
  return (
    <svg class="charts-sketch" viewBox="0 0 320 96" aria-hidden="true" focusable="false">
      <path class="sketch-grid" d="M0 24H320M0 56H320M0 88H320" />
      <path class="sketch-cool" d="M0 70C40 66 60 50 100 54S170 78 210 62 280 40 320 44" />
      <path class="sketch-hot" d="M0 82C30 80 60 74 96 60S150 20 190 24 270 62 320 30" />
    </svg>
  );
}
