import { type DashboardFacts, lines } from './panel.ts';

/** Metrics of cAdvisor. Its sums over a machine have no image. */
const CONTAINER = 'image!=""';

export const CONTAINERS: DashboardFacts = {
  id: 'lehr-containers',
  title: 'Lehr: containers',
  sections: [
    {
      title: 'Containers',
      panels: [
        lines('How many cores does each container use?', 'short', {
          '{{name}}': `sum by (name) (rate(container_cpu_usage_seconds_total{${CONTAINER}}[$__rate_interval]))`,
        }),
        lines('How much memory does each container need?', 'bytes', {
          '{{name}}': `sum by (name) (container_memory_working_set_bytes{${CONTAINER}})`,
        }),
        lines('How close is each container to its memory limit?', 'percentunit', {
          '{{name}}': `sum by (name) (container_memory_working_set_bytes{${CONTAINER}}) / (sum by (name) (container_spec_memory_limit_bytes{${CONTAINER}}) > 0)`,
        }),
        lines('Which containers were killed for lack of memory?', 'short', {
          '{{name}}': `sum by (name) (increase(container_oom_events_total{${CONTAINER}}[$__rate_interval]))`,
        }),
      ],
    },
  ],
};
