import { type DashboardFacts, quantile } from './panel.ts';

export const API: DashboardFacts = {
  id: 'lehr-api',
  title: 'Lehr: API',
  sections: [
    {
      title: 'Requests',
      panels: [
        {
          question: 'Which answers do callers get?',
          unit: 'reqps',
          kind: 'stacked',
          queries: [
            {
              expr: 'sum by (status) (rate(lehr_http_requests_total[$__rate_interval]))',
              legend: '{{status}}',
            },
          ],
        },
        {
          question: 'Which routes are asked most?',
          unit: 'reqps',
          kind: 'lines',
          queries: [
            {
              expr: 'topk(10, sum by (method, route) (rate(lehr_http_requests_total[$__rate_interval])))',
              legend: '{{method}} {{route}}',
            },
          ],
        },
        {
          question: 'How long does accepting a job take?',
          help: 'POST /v1/jobs. Requests that wait for the end of their job are included.',
          unit: 's',
          kind: 'lines',
          queries: [0.5, 0.99].map((q) => ({
            expr: quantile(q, 'lehr_http_request_duration_seconds', '', '{method="POST",route="/v1/jobs"}'),
            legend: `p${q * 100}`,
          })),
        },
        {
          question: 'How many requests are refused or end in an error?',
          unit: 'reqps',
          kind: 'lines',
          queries: [
            {
              expr: 'sum(rate(lehr_http_requests_total{status=~"4.."}[$__rate_interval]))',
              legend: 'by fault of the caller (4xx)',
            },
            {
              expr: 'sum(rate(lehr_http_requests_total{status="503"}[$__rate_interval])) or vector(0)',
              legend: 'overloaded (503)',
            },
            {
              expr: 'sum(rate(lehr_http_requests_total{status=~"5..",status!="503"}[$__rate_interval])) or vector(0)',
              legend: 'other errors (5xx)',
            },
          ],
        },
      ],
    },
    {
      title: 'Connections and processes',
      panels: [
        {
          question: 'Why are requests for jobs refused?',
          unit: 'reqps',
          kind: 'stacked',
          queries: [
            { expr: 'sum by (code) (rate(lehr_refusals_total[$__rate_interval]))', legend: '{{code}}' },
          ],
        },
        {
          question: 'How many callers wait or follow jobs?',
          unit: 'short',
          kind: 'lines',
          queries: [
            { expr: 'sum(lehr_held_requests)', legend: 'requests that wait for a job' },
            { expr: 'sum(lehr_event_streams)', legend: 'event streams' },
            { expr: 'sum(lehr_waiting_requests)', legend: 'requests that wait for their turn' },
          ],
        },
        {
          question: 'How late is the event loop (p99)?',
          unit: 's',
          kind: 'lines',
          queries: [{ expr: 'nodejs_eventloop_lag_p99_seconds{job="lehr-api"}', legend: '{{instance}}' }],
        },
        {
          question: 'How much CPU do the processes use?',
          unit: 'percentunit',
          kind: 'lines',
          queries: [
            {
              expr: 'rate(process_cpu_seconds_total{job=~"lehr-.*"}[$__rate_interval])',
              legend: '{{job}} {{instance}}',
            },
          ],
        },
        {
          question: 'How much memory do the processes use?',
          unit: 'bytes',
          kind: 'lines',
          queries: [
            { expr: 'process_resident_memory_bytes{job=~"lehr-.*"}', legend: '{{job}} {{instance}}' },
          ],
        },
      ],
    },
  ],
};
