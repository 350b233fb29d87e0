import { type DashboardFacts, lines } from './panel.ts';

const CARD = '{{instance}} card {{gpu}}';

/** Metrics of NVIDIA's dcgm-exporter with its default counters. */
export const CARDS: DashboardFacts = {
  id: 'lehr-cards',
  title: 'Lehr: GPU cards',
  sections: [
    {
      title: 'Work',
      panels: [
        lines(
          'How busy are the cards?',
          'percentunit',
          { [CARD]: 'avg by (instance, gpu) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)' },
          { help: 'Share of the time in which the graphics or compute engine was active.' },
        ),
        lines(
          'How busy are the tensor cores?',
          'percentunit',
          { [CARD]: 'avg by (instance, gpu) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)' },
          { help: 'Low beside a busy card: the graph runs in fp32, or batches are small.' },
        ),
        lines('How much memory is in use?', 'percentunit', {
          [CARD]:
            'avg by (instance, gpu) (DCGM_FI_DEV_FB_USED) / (avg by (instance, gpu) (DCGM_FI_DEV_FB_USED) + avg by (instance, gpu) (DCGM_FI_DEV_FB_FREE))',
        }),
        lines('How busy is the memory?', 'percentunit', {
          [CARD]: 'avg by (instance, gpu) (DCGM_FI_PROF_DRAM_ACTIVE)',
        }),
      ],
    },
    {
      title: 'Health',
      panels: [
        lines('How hot are the cards?', 'celsius', {
          [CARD]: 'max by (instance, gpu) (DCGM_FI_DEV_GPU_TEMP)',
        }),
        lines('How much power do they draw?', 'watt', {
          [CARD]: 'avg by (instance, gpu) (DCGM_FI_DEV_POWER_USAGE)',
        }),
        lines('Do they slow down (clock in MHz)?', 'short', {
          [CARD]: 'avg by (instance, gpu) (DCGM_FI_DEV_SM_CLOCK)',
        }),
        lines(
          'Which errors (Xid) do they report?',
          'short',
          { [CARD]: 'max by (instance, gpu) (DCGM_FI_DEV_XID_ERRORS)' },
          { help: 'The code of the last error; 0 when there was none.' },
        ),
      ],
    },
  ],
};
