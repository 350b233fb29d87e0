/** The published OpenAI client for a running Lehr, with a record of the responses. */
import OpenAI, { APIError } from 'openai';
import type { Stack } from './stack.ts';

/** Status and headers of a response. */
export type Answer = Pick<Response, 'status' | 'headers'>;

/** The client does not retry unless `options` set maxRetries. */
export function openai(
  { url, key }: Pick<Stack, 'url' | 'key'>,
  options: NonNullable<ConstructorParameters<typeof OpenAI>[0]> = {},
): { client: OpenAI; answers: Answer[] } {
  const answers: Answer[] = [];
  const client = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: key,
    maxRetries: 0,
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      // Before its first upload, the client fetches a data: URL to check whether this fetch supports forms.
      if (String(input).startsWith('http')) answers.push(response);
      return response;
    },
    ...options,
  });
  return { client, answers };
}

export async function errorOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error = await Promise.resolve(call).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof APIError) return error;
  throw new Error(`no APIError: ${error}`);
}
