/** The OpenAPI document of the API, without a running API or Redis. */
import { readFile } from 'node:fs/promises';
import { createApp } from '../../apps/api/src/app.ts';
import type { ApiParts } from '../../apps/api/src/parts.ts';
import { parseRegistry } from '../../packages/shared/src/index.ts';

const MODELS = new URL('../../packages/demo-models/models/models.yaml', import.meta.url);

export async function openApiDocument(): Promise<object> {
  // createApp does no I/O: of all parts it only reads these before the first request.
  const parts = {
    publicUrl: 'https://lehr.example',
    trustedProxies: [],
    securityContacts: [],
    storeOrigins: [],
    registry: parseRegistry(await readFile(MODELS, 'utf8')),
    presenter: { url: (path: string) => path },
    webhooks: {},
    metricsPage: { beforeScrape: () => {} },
  };
  const app = createApp(parts as unknown as ApiParts);
  const document = app.getOpenAPI31Document({ openapi: '3.1.0', info: { title: 'Lehr', version: '1' } });
  // Plain JSON, as the API serves it.
  return JSON.parse(JSON.stringify(document));
}
