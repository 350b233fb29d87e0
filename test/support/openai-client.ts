/** The published client of OpenAI on a running Lehr, and what it got from there. */
import OpenAI, { APIError } from 'openai';
import type { Stack } from './stack.ts';

/** The head of an answer. */
export type Answer = Pick<Response, 'status' | 'headers'>;

/** One request for each call, unless said otherwise. */
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
      // Before its first upload it looks, through a data: URL, whether this fetch knows forms.
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
