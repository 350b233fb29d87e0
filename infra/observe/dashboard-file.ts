/** Makes Grafana's JSON of a dashboard, with the builders of Grafana's own SDK. */

import {
  GraphDrawStyle,
  LegendDisplayMode,
  StackingConfigBuilder,
  StackingMode,
  VizLegendOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as NumberBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as LinesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import type { DashboardFacts, Panel, Query } from './dashboards/panel.ts';

/** Grafana counts columns of 1/24 of the width, and rows of 30 pixels. */
const NUMBER_COLUMNS = 6;
const LINES_COLUMNS = 12;
const NUMBER_ROWS = 4;
const LINES_ROWS = 8;

const SOURCE = { type: 'prometheus', uid: '$datasource' };

/** The content of a dashboard's file. */
export const dashboardFile = (facts: DashboardFacts): string =>
  `${JSON.stringify(dashboardOf(facts), null, 2)}\n`;

export function dashboardOf(facts: DashboardFacts): Dashboard {
  const builder = new DashboardBuilder(facts.title)
    .uid(facts.id)
    .tags(['lehr'])
    .readonly()
    .refresh('30s')
    .time({ from: 'now-3h', to: 'now' })
    .withVariable(new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'));
  if (facts.choosesModel) builder.withVariable(modelVariable());
  if (facts.asksPrice) {
    builder.withVariable(
      new TextBoxVariableBuilder('price').label('Price of an engine hour').defaultValue('1'),
    );
  }
  for (const { title, panels } of facts.sections) {
    builder.withRow(new RowBuilder(title));
    for (const panel of panels) builder.withPanel(panelOf(panel));
  }
  return builder.build();
}

const modelVariable = (): QueryVariableBuilder =>
  new QueryVariableBuilder('model')
    .label('Model')
    .datasource(SOURCE)
    .query('label_values(lehr_queue_jobs, model)')
    .includeAll(true)
    .allValue('.*')
    .multi(true);

function panelOf(panel: Panel): NumberBuilder | LinesBuilder {
  const builder = panel.kind === 'number' ? numberOf(panel) : linesOf(panel);
  builder.title(panel.question).datasource(SOURCE).unit(panel.unit);
  if (panel.isRare) builder.noValue('None so far');
  if (panel.help !== undefined) builder.description(panel.help);
  for (const [i, query] of panel.queries.entries()) builder.withTarget(queryOf(query, i));
  return builder;
}

function numberOf({ columns = NUMBER_COLUMNS, limits }: Panel): NumberBuilder {
  const builder = new NumberBuilder().span(columns).height(NUMBER_ROWS);
  if (!limits) return builder;
  const steps = [
    { value: null, color: 'green' },
    { value: limits[0], color: 'orange' },
    { value: limits[1], color: 'red' },
  ];
  return builder.thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps));
}

function linesOf({ columns = LINES_COLUMNS, kind }: Panel): LinesBuilder {
  const builder = new LinesBuilder()
    .span(columns)
    .height(LINES_ROWS)
    .min(0)
    .drawStyle(GraphDrawStyle.Line)
    .legend(new VizLegendOptionsBuilder().displayMode(LegendDisplayMode.List).showLegend(true));
  if (kind !== 'stacked') return builder;
  return builder.fillOpacity(30).stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('all'));
}

const queryOf = ({ expr, legend }: Query, index: number): DataqueryBuilder =>
  new DataqueryBuilder()
    .expr(expr)
    .legendFormat(legend)
    .refId(String.fromCharCode('A'.charCodeAt(0) + index));
