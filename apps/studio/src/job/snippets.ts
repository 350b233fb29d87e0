/** Programs that make a job again. Pure. */
import type { Job } from '@lehr/client';
import { texts } from '../texts/index.ts';

export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface RequestAgain {
  /** The body of the request. */
  readonly body: object;
  /** What the API does not show, because it was sent inside the request, such as `audio`: to be filled in. */
  readonly missing: readonly string[];
}

interface InputNode {
  readonly id: string;
  readonly type: string;
  readonly input: Input;
}

type Input = Readonly<Record<string, unknown>>;

/**
 * The request that makes the same job: with the same versions of the models and every setting that it ran with, the seeds included. It
 * has no webhook and no deadline.
 */
export function requestAgain(job: Job): RequestAgain {
  const { type, model, input, nodes = [], priority, metadata } = job;
  const missing: string[] = [];
  const common = {
    ...(priority !== 'standard' && { priority }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  if (type !== 'workflow') {
    return { body: { type, model, input: givenOf(input, '', missing), ...common }, missing };
  }
  const posted = (input.nodes ?? []) as readonly InputNode[];
  const again = posted.map((node) => ({
    id: node.id,
    type: node.type,
    model: nodes.find(({ id }) => id === node.id)?.model,
    input: givenOf(node.input, `${node.id}.`, missing),
  }));
  return { body: { type, nodes: again, ...common }, missing };
}

/** Adds the names of the fields that are not shown to `missing`. */
function givenOf(input: Input, prefix: string, missing: string[]): Input {
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== '');
  return Object.fromEntries(
    given.map(([name, value]) => {
      if (name === 'control' && Array.isArray(value)) {
        return [name, value.map((each, nth) => givenOf(each, `${prefix}control.${nth}.`, missing))];
      }
      if (isShown(name, value)) return [name, value];
      missing.push(prefix + name);
      return [name, name === 'texts' ? [texts.job.fillIn] : texts.job.fillIn];
    }),
  );
}

/** Of audio and pictures that were sent inside the request the API shows `data:` alone, and of stored texts their number. */
function isShown(name: string, value: unknown): boolean {
  if (name === 'texts') return Array.isArray(value);
  return (name !== 'audio' && name !== 'image') || value !== 'data:';
}

export function snippetOf(language: Language, body: object, url: string): string {
  switch (language) {
    case 'curl':
      return [
        `curl -s "${url}/v1/jobs?wait=60" \\`,
        '  -H "Authorization: Bearer $LEHR_API_KEY" \\',
        '  -H "Content-Type: application/json" \\',
        `  -d ${shellQuoted(JSON.stringify(body))}`,
      ].join('\n');
    case 'TypeScript':
      return [
        "import { Lehr } from '@lehr/client';",
        '',
        `const lehr = new Lehr({ url: '${url}', apiKey: process.env.LEHR_API_KEY });`,
        `const job = await lehr.run(${JSON.stringify(body, null, 2)});`,
        'console.log(job.output);',
      ].join('\n');
    case 'Python':
      return [
        'import json, os, urllib.request',
        '',
        `job = json.loads(${pythonQuoted(JSON.stringify(body))})`,
        'request = urllib.request.Request(',
        `    "${url}/v1/jobs?wait=60",`,
        '    data=json.dumps(job).encode(),',
        '    headers={',
        '        "Authorization": f"Bearer {os.environ[\'LEHR_API_KEY\']}",',
        '        "Content-Type": "application/json",',
        '    },',
        ')',
        'print(json.load(urllib.request.urlopen(request))["output"])',
      ].join('\n');
  }
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A string of Python: JSON escapes mean the same there. */
const pythonQuoted = (text: string): string => JSON.stringify(text);
