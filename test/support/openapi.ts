/** Requests generated from the OpenAPI document, so that new routes are covered automatically. */
import type { Random } from './random.ts';

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly minItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly format?: string;
  readonly example?: unknown;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
}

interface Media {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
}

interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface Operation {
  readonly name: string;
  readonly method: string;
  /** As in the document, with `{name}` for its parameters. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly statuses: readonly number[];
  readonly contents: Readonly<Record<string, Media>>;
}

/** A request before it is encoded: parameters as text by name, the body as a value. */
export interface Draft {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: { readonly type: string; readonly value: unknown };
}

export function operationsOf({ paths }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      statuses: Object.keys(operation.responses).map(Number),
      contents: operation.requestBody?.content ?? {},
    })),
  );
}

/**
 * A request that the document allows. `given` sets parameters and body fields, or the whole `body`; `optional` is the share of optional
 * parameters.
 */
export function draftOf(
  document: OpenApiDocument,
  operation: Operation,
  random: Random,
  given: Readonly<Record<string, unknown>> = {},
  optional = 0.5,
): Draft {
  const draft = { path: {}, query: {}, headers: {} } as Record<string, Record<string, string>>;
  for (const parameter of operation.parameters) {
    const { name, required } = parameter;
    const place = parameter.in === 'header' ? 'headers' : parameter.in;
    if (!required && !random.chance(optional)) continue;
    const sample = given[name] ?? sampleOf(document, parameter.schema, random);
    // A parameter is text, so it cannot be null.
    if (sample === null) continue;
    const value = String(sample);
    // A header value may contain only these characters.
    draft[place][name] = place === 'headers' ? value.replace(/[^\x20-\x7e]/g, '?') : value;
  }
  const types = Object.keys(operation.contents);
  const type = types.length > 0 ? random.pick(types) : undefined;
  const body = type && {
    type,
    value:
      structuredClone(given.body) ?? withGiven(bodyOf(document, operation.contents[type], random), given),
  };
  return { operation, ...draft, ...(body && { body }) } as unknown as Draft;
}

/** Sets the given values on the top-level fields that exist. */
function withGiven(value: unknown, given: Readonly<Record<string, unknown>>): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return { ...value, ...Object.fromEntries(Object.entries(given).filter(([name]) => name in value)) };
}

function bodyOf(document: OpenApiDocument, media: Media, random: Random): unknown {
  const examples = [
    ...(media.example === undefined ? [] : [media.example]),
    ...Object.values(media.examples ?? {}).map(({ value }) => value),
  ];
  if (examples.length > 0 && random.chance(0.7)) return structuredClone(random.pick(examples));
  return media.schema && sampleOf(document, media.schema, random);
}

const MAX_DEPTH = 6;

/** A value that fits the parts of the schema that this reads. */
export function sampleOf(document: OpenApiDocument, schema: Schema, random: Random, depth = 0): unknown {
  if (schema.$ref) return sampleOf(document, resolve(document, schema.$ref), random, depth);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return random.pick(schema.enum);
  const shown = [schema.example, schema.default, ...(schema.examples ?? [])].filter(
    (each) => each !== undefined,
  );
  if (shown.length > 0 && random.chance(0.6)) return structuredClone(random.pick(shown));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return sampleOf(document, random.pick(choices), random, depth);
  if (schema.allOf) {
    return Object.assign({}, ...schema.allOf.map((each) => sampleOf(document, each, random, depth)));
  }
  const types = [schema.type ?? 'object'].flat();
  switch (random.pick(types)) {
    case 'null':
      return null;
    case 'boolean':
      return random.chance(0.5);
    case 'integer':
      return Math.ceil(numberOf(schema, random));
    case 'number':
      return numberOf(schema, random);
    case 'string':
      return stringOf(schema, random);
    case 'array':
      if (schema.prefixItems)
        return schema.prefixItems.map((each) => sampleOf(document, each, random, depth + 1));
      return Array.from({ length: (schema.minItems ?? 0) + random.below(2) }, () =>
        sampleOf(document, schema.items ?? {}, random, depth + 1),
      );
    default:
      return objectOf(document, schema, random, depth);
  }
}

function objectOf(document: OpenApiDocument, schema: Schema, random: Random, depth: number): object {
  const { properties = {}, required = [] } = schema;
  const names = Object.keys(properties).filter(
    (name) => required.includes(name) || (depth < MAX_DEPTH && random.chance(0.4)),
  );
  return Object.fromEntries(
    names.map((name) => [name, sampleOf(document, properties[name], random, depth + 1)]),
  );
}

function numberOf({ minimum, exclusiveMinimum, maximum }: Schema, random: Random): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1);
  const most = Math.min(maximum ?? least + 10, least + 100);
  return least + random.below(Math.floor(most - least) + 1);
}

function stringOf({ format, minLength = 1 }: Schema, random: Random): string {
  if (format === 'uri') return 'https://app.example/hook';
  if (format === 'date-time') return '2099-01-01T00:00:00.000Z';
  if (format === 'binary') return 'RIFF----WAVE';
  return 'abcdefgh'.repeat(1 + Math.ceil(minLength / 8)).slice(0, minLength + random.below(8));
}

function resolve(document: OpenApiDocument, ref: string): Schema {
  const name = ref.slice(ref.lastIndexOf('/') + 1);
  const schema = document.components?.schemas?.[name];
  if (!schema) throw new Error(`The document has no ${ref}.`);
  return schema;
}

/** Path and options for `app.request`. A text body is sent unchanged. */
export function requestOf({
  operation,
  path,
  query,
  headers,
  body,
}: Draft): [url: string, init: RequestInit] {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    (path[name] ?? 'x').split('/').map(encodeURIComponent).join('/'),
  );
  const search = new URLSearchParams(query).toString();
  const url = search ? `${filled}?${search}` : filled;
  if (!body) return [url, { method: operation.method, headers }];
  if (body.type.startsWith('multipart/')) {
    return [url, { method: operation.method, headers, body: formOf(body.value) }];
  }
  const text = typeof body.value === 'string' ? body.value : JSON.stringify(body.value);
  return [url, { method: operation.method, headers: { 'content-type': body.type, ...headers }, body: text }];
}

function formOf(value: unknown): FormData {
  const form = new FormData();
  for (const [name, field] of Object.entries(Object(value) as Record<string, unknown>)) {
    for (const each of [field].flat()) {
      if (each instanceof Blob) {
        form.append(name, each, 'a.png');
        continue;
      }
      const text = typeof each === 'object' ? JSON.stringify(each) : String(each);
      if (name === 'file' || name === 'content') form.append(name, new Blob([text]), 'a.wav');
      else form.append(name, text);
    }
  }
  return form;
}
