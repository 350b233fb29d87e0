/**
 * The text of packages/client/src/wire.ts, made from the API's OpenAPI document: a type for every schema that the client's
 * operations reach, and a table of where each operation lives.
 */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { type OpenApiDocument, operationsOf, type Schema } from '../support/openapi.ts';

interface Described extends Schema {
  readonly description?: string;
}

interface Media {
  readonly schema?: Schema;
}
interface WholeOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}

const HEAD = `/**
 * What goes over the wire, made from the API's OpenAPI document. Not written by hand:
 * \`npx vitest run test/client/wire.test.ts -u\` writes it anew, and without -u that test compares the two.
 */
`;

/** `roots` are schemas that no operation names, such as the body of a webhook. */
export function wireSource(
  document: OpenApiDocument,
  operations: readonly string[],
  roots: readonly string[],
): string {
  const names = new Set<string>();
  const text = (schema: Schema): string => typeText(document, schema, names);
  for (const root of roots) names.add(root);
  const known = operationsOf(document);
  const table: string[] = [];
  const types: string[] = [];
  for (const name of operations) {
    const operation = known.find((each) => each.name === name);
    if (!operation) throw new Error(`The document has no operation ${name}.`);
    const { method, path, parameters } = operation;
    const whole = document.paths[path][method.toLowerCase()] as unknown as WholeOperation;
    const place = (where: string) =>
      members(
        parameters
          .filter((parameter) => parameter.in === where)
          .map((each) => ({
            name: each.name,
            required: each.required ?? false,
            text: text({ ...each.schema, type: withoutNull(each.schema) }),
          })),
      );
    const bodies = Object.entries(whole.requestBody?.content ?? {}).map(([type, { schema }]) =>
      type.startsWith('multipart/') ? 'FormData' : text(schema ?? {}),
    );
    const answers = Object.entries(whole.responses)
      .filter(([status]) => Number(status) < 300)
      .map(([, { content }]) => {
        const [media] = Object.values(content ?? {});
        return media?.schema ? text(media.schema) : 'undefined';
      });
    table.push(`${name}: { method: '${method}', path: '${path}' },`);
    types.push(
      `/** ${whole.summary}. */\n${name}: { path: ${place('path')}; query: ${place('query')}; headers: ${place('header')}; ` +
        `body: ${union(bodies) || 'undefined'}; answer: ${union(answers)} };`,
    );
  }
  const schemas: string[] = [];
  // Naming one schema may reach others, which a Set hands out as well.
  for (const name of names) schemas.push(declaration(document, name, names));
  const source = [
    HEAD,
    `export const OPERATIONS = {\n${table.join('\n')}\n} as const;\n`,
    `export interface Operations {\n${types.join('\n')}\n}\n`,
    ...schemas.sort(),
  ].join('\n');
  return formatted(source);
}

function declaration(document: OpenApiDocument, name: string, names: Set<string>): string {
  const schema = schemaOf(document, name);
  // A named schema that may be null says so wherever it is used.
  const body = typeText(document, { ...schema, type: withoutNull(schema) }, names);
  const doc = docText(schema);
  return schema.properties
    ? `${doc}export interface ${name} ${body}\n`
    : `${doc}export type ${name} = ${body};\n`;
}

function typeText(document: OpenApiDocument, schema: Schema, names: Set<string>): string {
  const text = (each: Schema): string => typeText(document, each, names);
  if (schema.$ref) {
    const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
    names.add(name);
    return [schemaOf(document, name).type].flat().includes('null') ? `${name} | null` : name;
  }
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return union(choices.map(text));
  if (schema.allOf) return schema.allOf.map((each) => `(${text(each)})`).join(' & ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  return union([schema.type ?? []].flat().map((type) => ofType(schema, type, text))) || 'unknown';
}

function ofType(schema: Schema, type: string, text: (schema: Schema) => string): string {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly (${schema.items ? text(schema.items) : 'unknown'})[]`;
    case 'object':
      return objectText(schema, text);
    default:
      return type;
  }
}

function objectText(
  { properties, required = [], additionalProperties }: Schema,
  text: (schema: Schema) => string,
): string {
  if (!properties) {
    const values = typeof additionalProperties === 'object' ? text(additionalProperties) : 'unknown';
    return `Readonly<Record<string, ${values}>>`;
  }
  return members(
    Object.entries(properties).map(([name, schema]) => ({
      name,
      required: required.includes(name),
      text: text(schema),
      doc: docText(schema),
    })),
  );
}

interface Member {
  readonly name: string;
  readonly required: boolean;
  readonly text: string;
  readonly doc?: string;
}

function members(all: readonly Member[]): string {
  if (all.length === 0) return 'Record<never, never>';
  const lines = all.map(({ name, required, text, doc = '' }) => {
    const key = /^\w+$/.test(name) ? name : `'${name}'`;
    return `${doc}readonly ${key}${required ? '' : '?'}: ${text}${required ? '' : ' | undefined'};`;
  });
  return `{\n${lines.join('\n')}\n}`;
}

/** The text of a parameter has no way to be null. */
const withoutNull = ({ type }: Schema): string[] => [type ?? []].flat().filter((each) => each !== 'null');

const union = (texts: readonly string[]): string => [...new Set(texts)].join(' | ');

function docText(schema: Described): string {
  return schema.description ? `/** ${schema.description.replaceAll('*/', '* /')} */\n` : '';
}

function schemaOf(document: OpenApiDocument, name: string): Schema {
  const schema = document.components?.schemas?.[name];
  if (!schema) throw new Error(`The document has no schema ${name}.`);
  return schema;
}

/** As `npm run fix` would leave it. */
function formatted(source: string): string {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
  const args = [biome, 'check', '--write', '--stdin-file-path=packages/client/src/wire.ts'];
  return execFileSync(process.execPath, args, { input: source, encoding: 'utf8' });
}
