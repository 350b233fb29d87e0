import type { DashboardFacts } from './panel.ts';

/** Metrics of cAdvisor. Its sums over a machine have no image. */
const CONTAINER = 'image!=""';

export const CONTAINERS: DashboardFacts = {
  id: 'lehr-containers',
  title: 'Lehr: containers',
  sections: [
    {
      title: 'Containers',
      panels: [
        {
          question: 'How many cores does each container use?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (name) (rate(container_cpu_usage_seconds_total{${CONTAINER}}[$__rate_interval]))`,
              legend: '{{name}}',
            },
          ],
        },
        {
          question: 'How much memory does each container need?',
          unit: 'bytes',
          kind: 'lines',
          queries: [
            { expr: `sum by (name) (container_memory_working_set_bytes{${CONTAINER}})`, legend: '{{name}}' },
          ],
        },
        {
          question: 'How close is each container to its memory limit?',
          unit: 'percentunit',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (name) (container_memory_working_set_bytes{${CONTAINER}}) / (sum by (name) (container_spec_memory_limit_bytes{${CONTAINER}}) > 0)`,
              legend: '{{name}}',
            },
          ],
        },
        {
          question: 'Which containers were killed for lack of memory?',
          unit: 'short',
          kind: 'lines',
          queries: [
            {
              expr: `sum by (name) (increase(container_oom_events_total{${CONTAINER}}[$__rate_interval]))`,
              legend: '{{name}}',
            },
          ],
        },
      ],
    },
  ],
};
