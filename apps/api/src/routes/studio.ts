/** Serves the studio, the page for people: one document for all of its views, and the files that it loads. */

import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { LehrError } from '@lehr/shared';
import type { Context } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { ApiEnv } from '../http/middleware/api-env.ts';
import type { Api, PlaceParts } from '../parts.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Of files whose name has the digest of their content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

type Encoding = 'br' | 'gzip' | 'identity';

interface StudioFile {
  readonly type: string;
  readonly bodies: Readonly<Record<Encoding, Uint8Array<ArrayBuffer>>>;
}

export function studioRoutes(app: Api, { publicUrl, storeOrigins }: PlaceParts): void {
  const headers = secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      // Outputs are read from the store for the zip file of the gallery.
      connectSrc: ["'self'", new URL(publicUrl).origin, ...storeOrigins],
      imgSrc: ["'self'", 'data:', 'blob:', new URL(publicUrl).origin, ...storeOrigins],
      mediaSrc: ["'self'", 'blob:'],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
      requireTrustedTypesFor: ["'script'"],
    },
    permissionsPolicy: { microphone: ['self'], camera: [], geolocation: [] },
  });
  let files: Promise<ReadonlyMap<string, StudioFile>> | undefined;
  const find = async (name: string): Promise<StudioFile | undefined> => {
    files ??= readFiles();
    // A build that is missing now may be there at the next request.
    files.catch(() => {
      files = undefined;
    });
    return (await files).get(name);
  };
  const page = async (c: Context<ApiEnv>): Promise<Response> => {
    const file = await find('index.html').catch(() => undefined);
    if (!file) throw new LehrError('not-found', 'The studio is not built: run npm run build.');
    return send(c, file, 'no-cache');
  };
  app.get('/', headers, page);
  app.get('/studio/assets/:name', headers, async (c) => {
    const file = await find(`assets/${c.req.param('name')}`).catch(() => undefined);
    if (!file) throw new LehrError('not-found', 'There is nothing at this path.');
    return send(c, file, FOR_EVER);
  });
  for (const path of [
    '/studio',
    '/studio/sign-in',
    '/studio/speak',
    '/studio/compare',
    '/studio/gallery',
    '/studio/belt',
    '/studio/charts',
    '/studio/planned',
    '/studio/admin',
    '/studio/admin/:tab',
    '/studio/jobs/:id',
    '/studio/batches/:id',
  ]) {
    app.get(path, headers, page);
  }
}

function send(c: Context<ApiEnv>, { type, bodies }: StudioFile, cacheControl: string): Response {
  const accepted = c.req.header('accept-encoding') ?? '';
  const encoding =
    (['br', 'gzip'] as const).find((each) => new RegExp(`\\b${each}\\b`).test(accepted)) ?? 'identity';
  return c.body(bodies[encoding], 200, {
    'content-type': type,
    'cache-control': cacheControl,
    vary: 'accept-encoding',
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
  });
}

/** The build of apps/studio, by path. A few files, which stay in memory in each encoding. */
async function readFiles(): Promise<ReadonlyMap<string, StudioFile>> {
  const folder = join(createRequire(import.meta.url).resolve('@lehr/studio/package.json'), '../dist');
  const names = await readdir(folder, { recursive: true });
  const known = names.filter((name) => extname(name) in TYPES);
  return new Map(
    await Promise.all(known.map(async (name) => [name, await compressed(join(folder, name))] as const)),
  );
}

async function compressed(path: string): Promise<StudioFile> {
  const identity = new Uint8Array(await readFile(path));
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: identity.length };
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(identity, { params }),
    promisify(gzip)(identity, { level: 9 }),
  ]);
  return {
    type: TYPES[extname(path)],
    bodies: { identity, br: new Uint8Array(br), gzip: new Uint8Array(gz) },
  };
}
