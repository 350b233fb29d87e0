/** The client's types, written by openapi-typescript from the API's OpenAPI document. */
import { bundleFromString, createConfig } from '@redocly/openapi-core';
import openapiTypeScript, { astToString } from 'openapi-typescript';
import ts from 'typescript';

/** Tags of the operations that the client offers. The other tags are for clients of other services and for operators. */
const TAGS = [
  'jobs',
  'batches',
  'schedules',
  'models',
  'files',
  'queues',
  'webhooks',
  'keys',
  'audit',
  'rollouts',
  'operations',
];

const HEAD = "/** Written by `npm run docs` from the API's OpenAPI document: do not edit. */\n\n";

/** Returns the text of packages/client/src/openapi.ts. */
export async function clientTypes(document) {
  const { bundle } = await bundleFromString({
    source: JSON.stringify(offered(document), withoutExamples),
    config: await createConfig({}),
    removeUnusedComponents: true,
  });
  const nodes = await openapiTypeScript(bundle.parsed, {
    immutable: true,
    // A request may leave out a field that has a default.
    defaultNonNullable: false,
    transformProperty: allowUndefined,
  });
  return HEAD + astToString(nodes);
}

/** The document without the operations that the client does not offer. */
function offered(document) {
  const paths = Object.entries(document.paths).map(([path, operations]) => [
    path,
    Object.fromEntries(Object.entries(operations).filter(([, { tags }]) => TAGS.includes(tags[0]))),
  ]);
  return {
    ...document,
    paths: Object.fromEntries(paths.filter(([, operations]) => Object.keys(operations).length > 0)),
  };
}

/** Examples would be two thirds of the file. */
const withoutExamples = (key, value) => (key === 'example' || key === 'examples' ? undefined : value);

/** Callers that compile with exactOptionalPropertyTypes may pass undefined for an optional field. */
function allowUndefined(property) {
  const { modifiers, name, questionToken, type } = property;
  if (!questionToken) return property;
  const undefinedType = ts.factory.createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword);
  const union = ts.factory.createUnionTypeNode([type, undefinedType]);
  return ts.factory.updatePropertySignature(property, modifiers, name, questionToken, union);
}
