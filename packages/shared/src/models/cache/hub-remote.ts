/**
 * A model repository of the Hugging Face hub, or of a mirror that speaks its protocol.
 *
 * The npm package @huggingface/hub 2.17.5 is not used. Measured: its downloads begin anew after a broken connection, check no digest and
 * report a refusal without its status; its list sends the token to any host that a page names, and ends early at a relative link. It
 * would replace the loop over the pages and two schemas, and bring 10 packages (8 MB) into both images. It reads Xet storage in
 * JavaScript, in the thread that renews leases: 78 s of processor time for 2.1 GB of compressed float32 weights. The same bytes from
 * the plain address of a file, which the hub documents for clients without Xet, need 5 s.
 */
import { z } from 'zod';
import { LehrError } from '../../base/errors.ts';
import { bodyOf, bodyOffset, get, getJson } from './http-get.ts';
import type { Listing, OpenedFile, Remote, RemoteFile } from './remote.ts';
import type { ModelSource } from './source.ts';

export interface HubOptions {
  readonly endpoint: string;
  readonly token?: string | undefined;
}

type HubSource = Extract<ModelSource, { kind: 'hub' }>;

const RevisionSchema = z.looseObject({ sha: z.string().regex(/^[0-9a-f]{40}$/) });
/** Large files are stored apart, as `lfs`: the blob of git is then only a pointer to them. */
const TreeSchema = z.array(
  z.looseObject({
    type: z.string(),
    path: z.string(),
    oid: z.string().optional(),
    size: z.int().nonnegative().default(0),
    lfs: z.looseObject({ oid: z.string(), size: z.int().nonnegative() }).optional(),
  }),
);
/** 1000 files each. */
const MAX_PAGES = 100;

/** The commit that a branch or a tag stands for now. */
export async function commitOf(
  { repo, revision }: Pick<HubSource, 'repo' | 'revision'>,
  { endpoint, token }: HubOptions,
  signal: AbortSignal,
): Promise<string> {
  const url = `${baseOf(endpoint)}/api/models/${repo}/revision/${encodeURIComponent(revision)}`;
  return expectShape(RevisionSchema, (await getJson(url, { signal, token })).value, url).sha;
}

const baseOf = (endpoint: string): string => endpoint.replace(/\/+$/, '');

export function hubRemote({ repo, folder, revision }: HubSource, { endpoint, token }: HubOptions): Remote {
  const base = baseOf(endpoint);
  const inFolder = folder === '' ? '' : `${folder}/`;

  return {
    async list(signal): Promise<Listing> {
      const options = { signal, token };
      const sha = await commitOf({ repo, revision }, { endpoint, token }, signal);
      const files: RemoteFile[] = [];
      let url: string | undefined =
        `${base}/api/models/${repo}/tree/${sha}${encodePath(folder)}?recursive=true`;
      for (let page = 0; url !== undefined; page++) {
        if (page === MAX_PAGES) throw new LehrError('model-unavailable', `${repo} has too many files.`);
        const answer = await getJson(url, options);
        const entries = expectShape(TreeSchema, answer.value, url);
        for (const { type, path, oid, size, lfs } of entries) {
          if (type !== 'file' || !path.startsWith(inFolder)) continue;
          files.push({ path: path.slice(inFolder.length), ...sizeAndDigest(oid, size, lfs) });
        }
        url = nextPage(answer.headers, url, base);
      }
      return { revision: sha, files };
    },

    async open(file, offset, listing, signal): Promise<OpenedFile> {
      const url = `${base}/${repo}/resolve/${listing.revision}${encodePath(`${inFolder}${file.path}`)}`;
      const response = await get(url, { signal, token, offset });
      return { offset: bodyOffset(response, offset), body: bodyOf(response) };
    },
  };
}

function sizeAndDigest(
  oid: string | undefined,
  size: number,
  lfs: { oid: string; size: number } | undefined,
): Omit<RemoteFile, 'path'> {
  if (lfs) return { bytes: lfs.size, digest: { kind: 'sha256', hex: lfs.oid.replace(/^sha256:/, '') } };
  return { bytes: size, ...(oid !== undefined && { digest: { kind: 'git-sha1', hex: oid } }) };
}

/** `Link: <https://...>; rel="next"`. Another host would get the token, so only pages of the hub itself are followed. */
function nextPage(headers: Headers, current: string, base: string): string | undefined {
  const [, target] = /<([^>]+)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? [];
  if (target === undefined) return undefined;
  const next = new URL(target, current);
  if (next.origin === new URL(base).origin) return next.href;
  throw new LehrError('model-unavailable', `${base} continues its list of files at another host.`);
}

const encodePath = (path: string): string =>
  path === '' ? '' : `/${path.split('/').map(encodeURIComponent).join('/')}`;

function expectShape<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  url: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new LehrError('model-unavailable', `${url} did not answer as a hub does.`, { cause: parsed.error });
}
