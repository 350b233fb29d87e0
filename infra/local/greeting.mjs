/** The text that the launcher prints when everything is ready. */
import { FIRST_PROMPT } from './self-check.mjs';

/** Shell lines that create a job and download its picture. The README shows the same lines. */
export function curlLines({ url, key }) {
  const job = JSON.stringify({ type: 'text-to-image', input: { prompt: FIRST_PROMPT } });
  return [
    `KEY=${key}`,
    `JOB=$(curl -s ${url}/v1/jobs \\`,
    '  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
    `  -d '${job}' |`,
    "  node -p 'JSON.parse(fs.readFileSync(0)).id')",
    'echo "$JOB"',
    `curl -s "${url}/v1/jobs/$JOB?wait=60" -H "Authorization: Bearer $KEY" > job.json`,
    `curl -s "$(node -p 'JSON.parse(fs.readFileSync("job.json")).output.images[0].url')" -o picture.png`,
  ];
}

/** `key.file` is the path of the key; undefined when the key comes from LEHR_API_KEY. `prometheus` is its address, if it runs. */
export function greeting(options) {
  const { url, studioUrl, workerUrl, operationsUrl, key, home, seconds, redis, prometheus } = options;
  const inShell = key.file ? `$(cat ${key.file})` : '$LEHR_API_KEY';
  const keyPlace = key.file ? `in ${key.file}` : 'in LEHR_API_KEY';
  return [
    '',
    `Lehr is ready (${seconds.toFixed(1)} s).`,
    '',
    `  studio   ${studioUrl}`,
    '           (signs in once, within 15 minutes; later, sign in with the key)',
    `  API      ${url}`,
    `  docs     ${url}/docs`,
    `  admin    ${operationsUrl}/admin/queues  (user admin, the key is the password)`,
    `  metrics  ${operationsUrl}/metrics${workerUrl ? ` and ${workerUrl}/metrics` : ''}`,
    ...(workerUrl
      ? []
      : ['  workers  none here: jobs wait for those of other machines (docs/two-machines.md)']),
    ...(prometheus
      ? [`  charts   ${url}/studio/charts, from Prometheus at ${prometheus}  (its alerts under /alerts)`]
      : []),
    `  key      ${key.isNew ? `${key.value}  (shown this once; kept ${keyPlace})` : keyPlace}`,
    `  data     ${home}, Redis at ${redis}`,
    '',
    'A picture, from another terminal:',
    '',
    ...curlLines({ url, key: inShell }).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops everything.',
    '',
  ].join('\n');
}
