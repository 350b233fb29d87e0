/** Checks a new installation as a whole with a first picture, from POST /v1/jobs to the bytes at its link. */
import { writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

export const FIRST_PROMPT = 'a red circle on a blue background';
const WAIT_S = 30;
/** The launcher must not hang when no worker draws the picture. */
const DEADLINE_S = 180;
const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');

/**
 * Lets the default model draw one picture and saves it at `path`. Returns a message about it; throws with the reason when
 * any step fails.
 */
export async function drawFirstPicture({ url, key, path, signal }) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const input = { prompt: FIRST_PROMPT, seed: 1 };
  const body = JSON.stringify({ type: 'text-to-image', input, deadline_s: DEADLINE_S });
  let job = await json(await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body, signal }));
  while (job.status === 'queued' || job.status === 'running') {
    job = await json(await fetch(`${url}/v1/jobs/${job.id}?wait=${WAIT_S}`, { headers, signal }));
  }
  if (job.status !== 'succeeded') {
    throw new Error(`${job.id} ended as ${job.status}${job.error ? `: ${job.error.detail}` : ''}`);
  }
  const [image] = job.output.images;
  const picture = await download(image.url, signal);
  const { width, height } = pngSize(picture);
  if (width !== job.input.width || height !== job.input.height) {
    throw new Error(
      `the picture is ${width}x${height}, requested was ${job.input.width}x${job.input.height}`,
    );
  }
  await writeFile(path, picture);
  return `${job.model} drew ${width}x${height} in ${(job.metrics.total_ms / 1000).toFixed(2)} s`;
}

/** Resolves when all `urls` answer 200. Every 15 s `onSlow` is called with a URL that does not, and its answer. */
export async function allReady(urls, { signal, onSlow }) {
  for (const url of urls) {
    let slowAt = performance.now() + 15_000;
    for (;;) {
      const complaint = await fetch(url, { signal }).then(
        async (answer) => (answer.ok ? undefined : await answer.text()),
        (error) => error.cause?.message ?? error.message,
      );
      signal.throwIfAborted();
      if (complaint === undefined) break;
      if (performance.now() > slowAt) {
        onSlow(url, complaint.trim().slice(0, 300));
        slowAt += 15_000;
      }
      await delay(100, undefined, { signal });
    }
  }
}

async function download(url, signal) {
  const [place] = url.split('?');
  const answer = await fetch(url, { signal }).catch((error) => {
    throw new Error(
      `the link of the picture does not work (${error.cause?.message ?? error.message}): ${place}`,
    );
  });
  if (!answer.ok) throw new Error(`the link of the picture answers ${answer.status}: ${place}`);
  return Buffer.from(await answer.arrayBuffer());
}

async function json(answer) {
  const text = await answer.text();
  if (!answer.ok)
    throw new Error(`${new URL(answer.url).pathname} answers ${answer.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** Width and height are in the header chunk, which is always the first one. */
function pngSize(bytes) {
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE))
    throw new Error(`the link gives ${bytes.length} bytes that are no PNG`);
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}
