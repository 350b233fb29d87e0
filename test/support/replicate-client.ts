/** The published Replicate client for a running Lehr, with a record of its requests. */
import Replicate from 'replicate';
import type { Stack } from './stack.ts';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
}

/** `calls` has every request of the client. Requests to `publicUrl` go to the stack. */
export function replicate(
  { url, key }: Pick<Stack, 'url' | 'key'>,
  options: NonNullable<ConstructorParameters<typeof Replicate>[0]> = {},
  publicUrl = url,
): { client: Replicate; calls: Call[] } {
  const calls: Call[] = [];
  const client = new Replicate({
    baseUrl: `${url}/v1`,
    auth: key,
    fetch: async (input, init) => {
      const address = String(input instanceof Request ? input.url : input).replace(publicUrl, url);
      const { status, headers, body } = await fetch(address, init);
      calls.push({ method: init?.method ?? 'GET', path: new URL(address).pathname, status, headers });
      return new Response(status === 204 ? null : body, { status, headers });
    },
    ...options,
  });
  return { client, calls };
}

export interface Refusal {
  readonly message: string;
  readonly response: Response;
}

/** Returns the ApiError that the client throws. */
export const refused = async (call: Promise<unknown>): Promise<Refusal> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Error && 'response' in error) return error as unknown as Refusal;
  throw new Error(`no ApiError: ${error}`);
};

/** The problem document, which the client keeps only in its error message. */
export const problemIn = ({ message }: Refusal) => JSON.parse(message.slice(message.indexOf('{'), -1));
