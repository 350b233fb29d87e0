/** Programs that make a job again. Pure. */
import type { Job } from '@lehr/client';

export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The request that makes the same job: with every setting that it ran with, the seed included. */
export function requestAgain({ type, model, input, nodes }: Job): object {
  if (type === 'workflow') return { type, nodes: nodes?.map(({ id }) => ({ id })) };
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== '');
  return { type, model, input: Object.fromEntries(given) };
}

export function snippetOf(language: Language, job: Job, url: string): string {
  const request = requestAgain(job);
  switch (language) {
    case 'curl':
      return [
        `curl -s "${url}/v1/jobs?wait=60" \\`,
        '  -H "Authorization: Bearer $LEHR_API_KEY" \\',
        '  -H "Content-Type: application/json" \\',
        `  -d ${shellQuoted(JSON.stringify(request))}`,
      ].join('\n');
    case 'TypeScript':
      return [
        "import { Lehr } from '@lehr/client';",
        '',
        `const lehr = new Lehr({ url: '${url}', apiKey: process.env.LEHR_API_KEY });`,
        `const job = await lehr.run(${JSON.stringify(request, null, 2)});`,
        'console.log(job.output);',
      ].join('\n');
    case 'Python':
      return [
        'import json, os, urllib.request',
        '',
        `job = json.loads(${pythonQuoted(JSON.stringify(request))})`,
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
