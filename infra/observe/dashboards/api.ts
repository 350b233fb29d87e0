import { type DashboardFacts, lines, quantiles, rate, stacked } from './panel.ts';

export const API: DashboardFacts = {
  id: 'lehr-api',
  title: 'Lehr: API',
  sections: [
    {
      title: 'Requests',
      panels: [
        stacked('Which answers do callers get?', 'reqps', {
          '{{status}}': rate('lehr_http_requests_total', 'status'),
        }),
        lines('Which routes are asked most?', 'reqps', {
          '{{method}} {{route}}':
            'topk(10, sum by (method, route) (rate(lehr_http_requests_total[$__rate_interval])))',
        }),
        lines(
          'How long does accepting a job take?',
          's',
          quantiles([0.5, 0.99], 'lehr_http_request_duration_seconds', '{method="POST",route="/v1/jobs"}'),
          { help: 'POST /v1/jobs. Requests that wait for the end of their job are included.' },
        ),
      ],
    },
    {
      title: 'Connections and processes',
      panels: [
        stacked('Why are requests for jobs refused?', 'reqps', {
          '{{code}}': rate('lehr_refusals_total', 'code'),
        }),
        lines('How many callers wait or follow jobs?', 'short', {
          'requests that wait for a job': 'sum(lehr_held_requests)',
          'event streams': 'sum(lehr_event_streams)',
          'requests that wait for their turn': 'sum(lehr_waiting_requests)',
        }),
        lines('How late is the event loop (p99)?', 's', {
          '{{instance}}': 'nodejs_eventloop_lag_p99_seconds{job="lehr-api"}',
        }),
        lines('How much CPU do the processes use?', 'percentunit', {
          '{{job}} {{instance}}': 'rate(process_cpu_seconds_total{job=~"lehr-.*"}[$__rate_interval])',
        }),
        lines('How much memory do the processes use?', 'bytes', {
          '{{job}} {{instance}}': 'process_resident_memory_bytes{job=~"lehr-.*"}',
        }),
      ],
    },
  ],
};
