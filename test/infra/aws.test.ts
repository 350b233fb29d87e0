/** infra/aws without its packages: roles allow what the code does, and docs/aws.md names what there is. npm run test:aws does the rest. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ENV } from '@lehr/shared';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { BUCKET_ACTIONS, OBJECT_ACTIONS } from '../../infra/aws/lib/s3-actions.ts';
import { readSettings } from '../../infra/aws/lib/settings.ts';
import { ROOT, readText } from '../repo/readme.ts';

/** The action that S3 asks for. */
const ACTION_OF: Readonly<Record<string, string>> = {
  GetObjectCommand: 's3:GetObject',
  PutObjectCommand: 's3:PutObject',
  // Of the original it needs s3:GetObject.
  CopyObjectCommand: 's3:PutObject',
  DeleteObjectCommand: 's3:DeleteObject',
  DeleteObjectsCommand: 's3:DeleteObject',
  ListObjectsV2Command: 's3:ListBucket',
  paginateListObjectsV2: 's3:ListBucket',
};
const OBJECTS = 'packages/shared/src/objects';

test('The roles of infra/aws allow the actions that the object store uses, and no others', () => {
  const code = readdirSync(join(ROOT, OBJECTS))
    .filter((name) => /^s3.*\.ts$/.test(name) && !name.endsWith('.test.ts'))
    .map((name) => readText(`${OBJECTS}/${name}`))
    .join('\n');
  const used = [...code.matchAll(/new (\w+Command)\(|\b(paginate\w+)\(/g)].map(
    ([, command, list]) => command ?? list,
  );
  expect(used.length).toBeGreaterThan(5);
  const needed = new Set(used.map((name) => ACTION_OF[name] ?? `unknown: ${name}`));
  expect([...needed].sort()).toEqual([...BUCKET_ACTIONS, ...OBJECT_ACTIONS].sort());
});

test('docs/aws.md has every output and every context value of the app, and says that it was never deployed', () => {
  const page = readText('docs/aws.md');
  expect(page).toContain('It was never deployed');
  const lib = ['karpenter', 'roles', 'redis', 'lehr-stack'].map((name) =>
    readText(`infra/aws/lib/${name}.ts`),
  );
  const outputs = [...lib.join('\n').matchAll(/new CfnOutput\(\w+, '(\w+)'/g)].map(([, name]) => name);
  expect(outputs).toContain('InterruptionQueue');
  for (const name of [...outputs, 'Bucket', 'ClusterName']) expect(page).toContain(`\`${name}\``);
  const names: string[] = [];
  readSettings((name) => {
    names.push(name);
    return undefined;
  });
  for (const name of names) expect(page).toContain(`\`${name}\``);
});

test('An output that is a value of the chart names one that the chart has', () => {
  const values = parse(readText('infra/helm/lehr/values.yaml')) as Record<string, object>;
  const lib = ['roles', 'lehr-stack'].map((name) => readText(`infra/aws/lib/${name}.ts`)).join('\n');
  const named = [...lib.matchAll(/'Chart: (\w+)\.(\w+)/g)];
  expect(named.length).toBe(5);
  for (const [path, key, name] of named)
    expect(Object.keys(key === 'env' ? ENV : (values[key] ?? {})), path).toContain(name);
});
