/** The chart as a package, and what a change of it restarts. Skipped without Helm. */
import { execFileSync } from 'node:child_process';
import { appendFile, cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../repo/readme.ts';
import { tempFolder } from '../support/tiny-models.ts';
import { CHART, helm, objectsOf, template, templateOf } from './helm.ts';

/** The template of the pods of a Deployment or StatefulSet: a change of it restarts them. */
function podsOf(text: string, name: string): unknown {
  const [found] = objectsOf(text).filter(
    ({ kind, metadata }) => /^(Deployment|StatefulSet)$/.test(kind) && metadata.name === name,
  );
  return (found.spec as { template: unknown }).template;
}

describe.skipIf(!helm)('With Helm', () => {
  test('The packed chart has files in place of links, and makes the same objects', async () => {
    const folder = await tempFolder('package');
    const args = ['package', join(ROOT, CHART), '--destination', folder];
    execFileSync(helm ?? '', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const [file] = await readdir(folder);
    expect(templateOf(join(folder, file))).toBe(template());
  });

  test('The trial Redis restarts when a newer Lehr gives its users other commands, and nothing else does', async () => {
    const chart = join(await tempFolder('chart'), 'lehr');
    await cp(join(ROOT, CHART), chart, { recursive: true, dereference: true });
    const before = templateOf(chart);
    await appendFile(join(chart, 'files/users.acl'), '# one more line\n');
    const after = templateOf(chart);
    expect(podsOf(after, 'lehr-redis')).not.toEqual(podsOf(before, 'lehr-redis'));
    for (const name of ['lehr-api', 'lehr-webhooks', 'lehr-worker-cpu', 'lehr-s3'])
      expect(podsOf(after, name), name).toEqual(podsOf(before, name));
  });

  test.each([
    [
      'how a pool is scaled restart the API, which reads pools.yaml at its start',
      'pools.cpu.scaling.start_s=90',
      ['lehr-api', 'lehr-webhooks'],
    ],
    ['models restart nothing, because models.yaml is read again', 'models=models: []', []],
    ['a variable of one pool restarts only its workers', 'pools.cpu.env.LEHR_ROW_CAP=4', ['lehr-worker-cpu']],
  ])('Other values for %s', (_, option, restarted) => {
    const [before, after] = [template(), template('--set-string', option)];
    const names = ['lehr-api', 'lehr-webhooks', 'lehr-worker-cpu', 'lehr-redis', 'lehr-s3'];
    const changed = names.filter(
      (name) => JSON.stringify(podsOf(before, name)) !== JSON.stringify(podsOf(after, name)),
    );
    expect(changed).toEqual(restarted);
  });
});
