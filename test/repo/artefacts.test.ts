/** While nothing is published, no page tells its reader to pull or install what only a build makes. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, readText } from './readme.ts';

type Kind = 'npm' | 'images' | 'charts';
const PUBLISHED = JSON.parse(readText('infra/release/publishing.json')) as Record<Kind, string | null>;

const PAGES = [
  ...[
    'README.md',
    'CONTRIBUTING.md',
    'packages/client/README.md',
    'packages/mcp/README.md',
    'apps/cli/README.md',
    'infra/docker/README.md',
  ],
  ...readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
];

/** What docker-bake.hcl builds, without registry and tag. */
const BUILT = [...readText('infra/docker/docker-bake.hcl').matchAll(/\$\{REGISTRY\}([\w-]+):/g)].map(
  ([, name]) => name,
);

/** Hosts of examples, which nobody can take for ours; no host; and objects of Kubernetes, which kubectl names like this. */
const EXAMPLE =
  /^(?:registry\.example\.com|111122223333\.dkr\.ecr\.[\w-]+\.amazonaws\.com|\$\{?REGISTRY\}?|service|deployment|)(?:\/|$)/;
const IMAGE =
  /(?<![\w./-])((?:[\w.${}-]+\/)*)(lehr-(?:api|worker-(?:cpu|cuda)|[\w-]+(?=:\d+\.\d)))(?![\w/-])/g;
/** Packages by name, from a registry: not a file, and not `npx lehr` in a checkout. */
const PACKAGE =
  /\bnpm (?:install|i|add)\b[^\n`]* (?:@lehr\/[\w-]+|lehr)(?=[@\s`]|$)|\bnpx (?:-y|--yes|@lehr\/)[^\n`]*/gm;
const CHART =
  /\bhelm (?:repo add|pull)[^\n`]*|\boci:\/\/(?!\.\.\.)[^\s`]+|\bhelm (?:install|upgrade)\s+(?:--\S+\s+)*lehr\s+(?!infra\/helm\/lehr\b)\S+/g;

/** The names on a page that its reader could not get. */
function missingFrom(text: string, published: Readonly<Record<Kind, string | null>> = PUBLISHED): string[] {
  const images = [...text.matchAll(IMAGE)].filter(
    ([, place, name]) => !BUILT.includes(name) || !(EXAMPLE.test(place) || place === published.images),
  );
  return [
    ...images.map(([all]) => all),
    ...(published.npm ? [] : [...text.matchAll(PACKAGE)].map(([all]) => all)),
    ...(published.charts ? [] : [...text.matchAll(CHART)].map(([all]) => all)),
  ];
}

test('docker-bake.hcl builds every Dockerfile, under the name of its image', () => {
  const files = readdirSync(join(ROOT, 'infra/docker')).filter((name) => name.endsWith('.Dockerfile'));
  expect(BUILT.toSorted()).toEqual(files.map((name) => `lehr-${name.replace('.Dockerfile', '')}`).sort());
  for (const file of files) {
    const name = file.replace('.Dockerfile', '');
    expect(readText(`infra/docker/${file}`)).toContain(`image.title="lehr-${name}"`);
    expect(readText('infra/docker/docker-bake.hcl')).toContain(`dockerfile = "infra/docker/${file}"`);
  }
  expect(readText('infra/docker/README.md')).toContain('docker buildx bake -f infra/docker/docker-bake.hcl');
  expect(existsSync(join(ROOT, 'infra/helm/lehr/Chart.yaml'))).toBe(true);
});

test.each(PAGES)('%s names no image, package or chart that does not exist', (page) => {
  expect(missingFrom(readText(page))).toEqual([]);
});

test.each([
  ['docker run ghcr.io/lehr/lehr-api:0.1.0', 'ghcr.io/lehr/lehr-api'],
  ['image: registry.example.com/team/lehr-worker-rocm:0.1.0', 'registry.example.com/team/lehr-worker-rocm'],
  ['npm install @lehr/client', 'npm install @lehr/client'],
  ['Install it with `npm i -g lehr`.', 'npm i -g lehr'],
  ['npx -y lehr submit', 'npx -y lehr submit'],
  ['helm repo add lehr https://charts.lehr.dev', 'helm repo add lehr https://charts.lehr.dev'],
  ['helm install lehr lehr/lehr', 'helm install lehr lehr/lehr'],
  ['helm install lehr oci://ghcr.io/charts/lehr', 'helm install lehr oci://ghcr.io/charts/lehr'],
])('A page with "%s" would be found', (text, found) => {
  expect(missingFrom(text, { npm: null, images: null, charts: null })).toContain(found);
});

test.each([
  'image: registry.example.com/team/lehr-worker-cuda:0.1.0',
  'docker build -t "$REGISTRY/lehr-api:$VERSION" .',
  'npm install CHECKOUT/release/npm/*.tgz',
  'npx lehr submit "a red circle"',
  'helm install lehr infra/helm/lehr --namespace lehr',
  'The ServiceAccount `lehr-api`, and url: http://lehr-api:8080/v1/scale/all',
])('A page may say "%s"', (text) => {
  expect(missingFrom(text, { npm: null, images: null, charts: null })).toEqual([]);
});
