/** What shares a call of a graph, and what happens to checkpoints. */
import { CHOSEN, type DashboardFacts, lines, rate, stacked } from './panel.ts';

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
        lines('How many pictures share a call?', 'short', { [REF]: mean('lehr_batch_size') }),
        lines('How many rows has a call?', 'short', { [REF]: mean('lehr_batch_rows') }),
        lines(
          'How full are the lanes?',
          'percentunit',
          { [REF]: mean('lehr_lane_occupancy_ratio') },
          {
            help: 'Rows of a call, as a share of the most that its lane takes.',
          },
        ),
        lines(
          'How long does a call take outside of its graph?',
          's',
          { [REF]: mean('lehr_step_host_seconds') },
          { help: 'Stacking rows, guidance and samplers. The device waits meanwhile.' },
        ),
        lines('How many windows of speech share the decoder?', 'short', {
          [REF]: mean('lehr_windows_per_batch'),
        }),
        lines('How many tiles of pictures share a run of a model that transforms them?', 'short', {
          [REF]: mean('lehr_tiles_per_run'),
        }),
        lines('How many tokens are written per second?', 'short', {
          [REF]: rate('lehr_tokens_total', 'model, version', CHOSEN),
        }),
      ],
    },
    {
      title: 'Checkpoints',
      panels: [
        stacked(
          'What happens to checkpoints?',
          'short',
          { '{{outcome}}': `sum by (outcome) (increase(lehr_checkpoints_total${CHOSEN}[$__rate_interval]))` },
          { isRare: true },
        ),
      ],
    },
  ],
};
