/** What an operation of the OpenAPI document takes and answers, as types. */
import type { paths } from './openapi.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that have an operation for this method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { readonly [K in M]: object } ? P : never;
}[keyof paths];

export type Operation<M extends Method, P extends PathOf<M>> = paths[P] extends {
  readonly [K in M]: infer Found;
}
  ? Found
  : never;

/** The fields `path`, `query` and `header` of the document, and the body. A form is a function: each attempt needs a new one. */
export type CallInput<O> = ParametersOf<O> & BodyOf<O>;
type ParametersOf<O> = O extends { readonly parameters: infer Parameters }
  ? Omit<Parameters, 'cookie'>
  : never;
type BodyOf<O> = O extends { readonly requestBody: { readonly content: infer Content } }
  ? { readonly body: Content extends { readonly 'application/json': infer Body } ? Body : () => FormData }
  : unknown;

/** The body of a successful answer; undefined where the answer may have none. */
export type Answer<O> = O extends { readonly responses: infer Responses }
  ? {
      [Status in keyof Responses]: Status extends Success ? BodyOfAnswer<Responses[Status]> : never;
    }[keyof Responses]
  : never;
type Success = 200 | 201 | 202 | 204;
type BodyOfAnswer<R> = R extends { content: infer Content }
  ? Content extends { readonly 'application/json': infer Body }
    ? Body
    : Content[keyof Content]
  : undefined;
