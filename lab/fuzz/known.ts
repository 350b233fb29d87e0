/** Things that exist while requests are sent, so that generated requests can name them. */
import type { Known } from './request.ts';
import type { Target } from './target.ts';

const bare = (job: string): string => job.slice('job_'.length);

interface PostedJob {
  readonly id: string;
  readonly links: { readonly events_signed: string };
  readonly output?: { readonly images?: readonly { readonly url: string }[] };
}

/** Makes what requests with this key may name: a finished job, a file, links and a key without use. */
export async function knownOf({ ask, adminKey }: Target, key: string): Promise<Known> {
  const body = { type: 'text-to-image', input: { prompt: 'a red circle' } };
  const job = (await (await ask(key, 'POST', '/v1/jobs?wait=20', body)).json()) as PostedJob;
  const form = new FormData();
  form.append('content', new Blob(['RIFF']), 'a.wav');
  const file = (await (await ask(key, 'POST', '/v1/files', form)).json()) as { id: string };
  const spare = (await (await ask(adminKey, 'POST', '/v1/keys', { tenant: 'spare' })).json()) as {
    id: string;
  };
  const prediction = (await (await ask(key, 'GET', `/v1/predictions/${bare(job.id)}`)).json()) as {
    urls: { stream: string };
  };
  const targetOf = (url = 'http://lehr/objects/x'): string => new URL(url).pathname + new URL(url).search;
  return {
    key,
    admin: adminKey,
    job: job.id,
    prediction: bare(job.id),
    file: file.id,
    spare_key: spare.id,
    object_link: targetOf(job.output?.images?.[0]?.url),
    events_link: targetOf(job.links.events_signed),
    stream_link: targetOf(prediction.urls.stream),
  };
}
