/**
 * Objects are written twice: as plain YAML for Kustomize, and as templates of the Helm chart. A Setting is a value in such an
 * object that users of the chart may change.
 */
import { stringify } from 'yaml';

export class Setting {
  /** What the template computes, for example `.Values.api.replicas`. */
  readonly expression: string;
  /** The value in the plain file; undefined leaves the field out. */
  readonly preset: unknown;

  constructor(expression: string, preset: unknown) {
    this.expression = expression;
    this.preset = preset;
  }
}

/** An object of Kubernetes, with Settings in place of some values. */
export type KubeObject = Readonly<Record<string, unknown>>;

export interface ObjectFile {
  /** Without folder and ending. */
  readonly name: string;
  /** Why the objects are as they are; becomes the head of both files. */
  readonly about: string;
  readonly objects: readonly KubeObject[];
}

const HEAD = 'Made by npm run docs from infra/k8s/source; do not edit.';
const STYLE = { lineWidth: 0 } as const;
/** YAML quotes what begins with it, so it ends a quoted text without touching others. */
const OPEN = '<<setting ';
const CLOSE = ' setting>>';

export const plainYaml = ({ about, objects }: ObjectFile): string =>
  comment(about) + objects.map((object) => stringify(resolved(object, plain), STYLE)).join('---\n');

/** `condition` is an expression of Helm; without it the objects are always there. */
export function templateYaml({ about, objects }: ObjectFile, condition?: string): string {
  const text = objects.map((object) => templateOf(object)).join('---\n');
  return comment(about) + (condition === undefined ? text : `{{- if ${condition} }}\n${text}{{- end }}\n`);
}

/** The template of one object. Each setting is printed as JSON, which is YAML of any type on one line. */
export function templateOf(object: KubeObject): string {
  const text = stringify(resolved(object, marked), STYLE);
  return text.replaceAll(
    new RegExp(`"?${OPEN}(.*?)${CLOSE}"?`, 'g'),
    (_, expression: string) => `{{ ${expression.replaceAll('\\"', '"')} | toJson }}`,
  );
}

const comment = (about: string): string => `# ${HEAD}\n#\n${about.trim().replace(/^/gm, '# ')}\n`;

const plain = ({ preset }: Setting): unknown => preset;
const marked = ({ expression }: Setting): unknown => `${OPEN}${expression}${CLOSE}`;

/** A copy in which every setting is replaced; undefined fields, and objects that had only such, are left out. */
function resolved(value: unknown, replace: (setting: Setting) => unknown): unknown {
  if (value instanceof Setting) return resolved(replace(value), replace);
  if (Array.isArray(value)) return value.map((each) => resolved(each, replace)).filter(isDefined);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, resolved(each, replace)] as const);
  const left = entries.filter(([, each]) => isDefined(each));
  return left.length === 0 && entries.length > 0 ? undefined : Object.fromEntries(left);
}

const isDefined = (value: unknown): boolean => value !== undefined;
