/** Serves the OpenAPI document and a page that renders it. The page loads nothing from other servers. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { secureHeaders } from 'hono/secure-headers';
import type { Api, PlaceParts } from '../parts.ts';

const INFO = {
  title: 'Lehr',
  version: '1',
  description:
    'A job queue with a fleet of GPU workers. Create a job, then poll or follow it, or let the request wait for its result. ' +
    'Errors are problem documents (RFC 9457); every response has an `x-request-id` header.',
};

/** Files of swagger-ui-dist, with their content types. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Lehr API</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#page', deepLinking: true, tryItOutEnabled: true });
`;

export function docsRoutes(app: Api, { publicUrl }: PlaceParts): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', {
    type: 'http',
    scheme: 'bearer',
    description: 'The key that `npm start` prints.',
  });
  app.openAPIRegistry.registerComponent('securitySchemes', 'basic', {
    type: 'http',
    scheme: 'basic',
    description: 'The same key as the password, under any user name; on the routes of the web UI.',
  });
  let document: object | undefined;
  app.get('/openapi.json', (c) => {
    document ??= app.getOpenAPI31Document({ openapi: '3.1.0', info: INFO, servers: [{ url: publicUrl }] });
    return c.json(document);
  });

  const page = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'self'"],
      styleSrc: ["'self'", "'unsafe-inline'"],
      imgSrc: ["'self'", 'data:'],
      frameAncestors: ["'none'"],
    },
  });
  app.use('/docs', page);
  app.get('/docs', (c) => c.html(PAGE));
  app.get('/docs/start.js', (c) => c.body(START, 200, { 'content-type': 'text/javascript; charset=utf-8' }));
  const folder = join(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'), '..');
  for (const [file, type] of Object.entries(ASSETS)) {
    app.get(`/docs/${file}`, async (c) =>
      c.body(await readFile(join(folder, file)), 200, {
        'content-type': type,
        'cache-control': 'public, max-age=3600',
      }),
    );
  }
}
