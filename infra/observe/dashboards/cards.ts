import type { DashboardFacts } from './panel.ts';

const CARD = '{{instance}} card {{gpu}}';

/** Metrics of NVIDIA's dcgm-exporter with its default counters. */
export const CARDS: DashboardFacts = {
  id: 'lehr-cards',
  title: 'Lehr: GPU cards',
  sections: [
    {
      title: 'Work',
      panels: [
        {
          question: 'How busy are the cards?',
          help: 'Share of the time in which the graphics or compute engine was active.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: 'avg by (instance, gpu) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)', legend: CARD }],
        },
        {
          question: 'How busy are the tensor cores?',
          help: 'Low beside a busy card: the graph runs in fp32, or batches are small.',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: 'avg by (instance, gpu) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE)', legend: CARD }],
        },
        {
          question: 'How much memory is in use?',
          unit: 'percentunit',
          kind: 'lines',
          queries: [
            {
              expr: 'avg by (instance, gpu) (DCGM_FI_DEV_FB_USED) / (avg by (instance, gpu) (DCGM_FI_DEV_FB_USED) + avg by (instance, gpu) (DCGM_FI_DEV_FB_FREE))',
              legend: CARD,
            },
          ],
        },
        {
          question: 'How busy is the memory?',
          unit: 'percentunit',
          kind: 'lines',
          queries: [{ expr: 'avg by (instance, gpu) (DCGM_FI_PROF_DRAM_ACTIVE)', legend: CARD }],
        },
      ],
    },
    {
      title: 'Health',
      panels: [
        {
          question: 'How hot are the cards?',
          unit: 'celsius',
          kind: 'lines',
          queries: [{ expr: 'max by (instance, gpu) (DCGM_FI_DEV_GPU_TEMP)', legend: CARD }],
        },
        {
          question: 'How much power do they draw?',
          unit: 'watt',
          kind: 'lines',
          queries: [{ expr: 'avg by (instance, gpu) (DCGM_FI_DEV_POWER_USAGE)', legend: CARD }],
        },
        {
          question: 'Do they slow down (clock in MHz)?',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: 'avg by (instance, gpu) (DCGM_FI_DEV_SM_CLOCK)', legend: CARD }],
        },
        {
          question: 'Which errors (Xid) do they report?',
          help: 'The code of the last error; 0 when there was none.',
          unit: 'short',
          kind: 'lines',
          queries: [{ expr: 'max by (instance, gpu) (DCGM_FI_DEV_XID_ERRORS)', legend: CARD }],
        },
      ],
    },
  ],
};
