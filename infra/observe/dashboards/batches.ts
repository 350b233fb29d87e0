/** What shares a call of a graph, and what happens to checkpoints. */
import { CHOSEN, type DashboardFacts } from './panel.ts';

const mean = (name: string): string =>
  `sum by (model, version) (rate(${name}_sum${CHOSEN}[$__rate_interval])) / sum by (model, version) (rate(${name}_count${CHOSEN}[$__rate_interval]))`;
const REF = '{{model}}@{{version}}';

export const BATCHES: DashboardFacts = {
  id: 'lehr-batches',
  title: 'Lehr: batches',
  choosesModel: true,
  sections: [
    {
      title: 'Batches',
      panels: [
        {
          question: 'How many pictures share a call?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: mean('lehr_batch_size'), legend: REF }],
        },
        {
          question: 'How many rows has a call?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: mean('lehr_batch_rows'), legend: REF }],
        },
        {
          question: 'How full are the lanes?',
          help: 'Rows of a call, as a share of the most that its lane takes.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: mean('lehr_lane_occupancy_ratio'), legend: REF }],
        },
        {
          question: 'How long does a call take outside of its graph?',
          help: 'Stacking rows, guidance and samplers. The device waits meanwhile.',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: mean('lehr_step_host_seconds'), legend: REF }],
        },
        {
          question: 'How many windows of speech share the decoder?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: mean('lehr_windows_per_batch'), legend: REF }],
        },
        {
          question: 'How many tokens are written per second?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (model, version) (rate(lehr_tokens_total${CHOSEN}[$__rate_interval]))`,
              legend: REF,
            },
          ],
        },
      ],
    },
    {
      title: 'Checkpoints',
      panels: [
        {
          question: 'What happens to checkpoints?',
          isRare: true,
          unit: 'short',
          kind: 'stacked',
          queries: [
            {
              expr: `sum by (outcome) (increase(lehr_checkpoints_total${CHOSEN}[$__rate_interval]))`,
              legend: '{{outcome}}',
            },
          ],
        },
      ],
    },
  ],
};
