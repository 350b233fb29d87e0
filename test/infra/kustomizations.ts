/**
 * The objects of a kustomization as its files have them: all resources and components, without patches. kubectl, which applies
 * the patches too, is not on every machine; `npm run test:cluster` uses it.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readText } from '../house/readme.ts';

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

export interface Patch {
  readonly target: { readonly kind: string; readonly name: string };
  readonly patch: string;
}

export interface Kustomization {
  readonly objects: readonly KubeObject[];
  /** ConfigMaps that Kustomize generates, merged, by name. */
  readonly generated: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly patches: readonly Patch[];
}

interface KustomizationFile {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly Patch[];
  readonly configMapGenerator?: readonly {
    readonly name: string;
    readonly behavior?: string;
    readonly literals?: readonly string[];
    readonly files?: readonly string[];
  }[];
}

/** `folder` is a path from the root of the repository. Throws when a file that is named is missing. */
export function kustomization(folder: string): Kustomization {
  const file = parse(readText(join(folder, 'kustomization.yaml'))) as KustomizationFile;
  const parts = [...(file.resources ?? []), ...(file.components ?? [])].map((each) => join(folder, each));
  const generated: Record<string, Record<string, string>> = {};
  const objects: KubeObject[] = [];
  const patches: Patch[] = [...(file.patches ?? [])];
  for (const part of parts) {
    if (statSync(part).isDirectory()) {
      const inner = kustomization(part);
      objects.push(...inner.objects);
      patches.push(...inner.patches);
      for (const [name, data] of Object.entries(inner.generated))
        generated[name] = { ...generated[name], ...data };
    } else objects.push(...objectsOf(readText(part)));
  }
  for (const { name, behavior, literals = [], files = [] } of file.configMapGenerator ?? []) {
    if (behavior !== 'merge' && name in generated) throw new Error(`${folder} generates ${name} again`);
    const entries = literals.map((literal) => [
      literal.slice(0, literal.indexOf('=')),
      literal.slice(literal.indexOf('=') + 1),
    ]);
    const contents = files.map((each) => [each, readText(join(folder, each))]);
    generated[name] = { ...generated[name], ...Object.fromEntries([...entries, ...contents]) };
  }
  return { objects, generated, patches };
}

export const objectsOf = (text: string): KubeObject[] =>
  parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as KubeObject;
  });
