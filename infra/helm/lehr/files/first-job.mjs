/** The program of `helm test`: sends the job in JOB and waits for its end. Exits with 0 when it has succeeded. */
const url = process.env.API_URL ?? 'http://lehr-api:8080';
const headers = { authorization: `Bearer ${process.env.LEHR_API_KEY}`, 'content-type': 'application/json' };

async function ask(path, options) {
  const response = await fetch(`${url}${path}`, { headers, ...options });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

let job = await ask('/v1/jobs', { method: 'POST', body: process.env.JOB });
while (['queued', 'running'].includes(job.status)) job = await ask(`/v1/jobs/${job.id}?wait=60`);
console.log(JSON.stringify(job));
process.exit(job.status === 'succeeded' ? 0 : 1);
