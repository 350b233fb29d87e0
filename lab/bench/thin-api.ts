/**
 * The thinnest API that promises what POST /v1/jobs promises: it parses the same body with the same schema, checks a key, and answers
 * when BullMQ has the job. It has no record, admission, quota, fairness, duplicate detection, metric or log.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { serve } from '@hono/node-server';
import type { Queue } from 'bullmq';
import { Hono } from 'hono';
import { JobRequestSchema, newJobId } from '../../packages/shared/src/index.ts';

export interface ThinApi {
  readonly port: number;
  close(): void;
}

const digest = (secret: string): Buffer => createHash('sha256').update(secret).digest();

export async function startThinApi(queue: Queue, key: string): Promise<ThinApi> {
  const known = digest(`Bearer ${key}`);
  const app = new Hono();
  app.post('/v1/jobs', async (c) => {
    if (!timingSafeEqual(digest(c.req.header('authorization') ?? ''), known)) return c.json({}, 401);
    const parsed = JobRequestSchema.safeParse(await c.req.json());
    if (!parsed.success) return c.json({ errors: parsed.error.issues }, 422);
    const id = newJobId();
    await queue.add(parsed.data.type, parsed.data, { jobId: id, priority: 5 });
    return c.json({ id, status: 'queued', ...parsed.data }, 202, { location: `/v1/jobs/${id}` });
  });
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) =>
      resolve({ port, close: () => server.close() }),
    );
  });
}
