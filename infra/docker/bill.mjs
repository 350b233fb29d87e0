/**
 * What an image consists of: writes sbom.cdx.json (CycloneDX) and licences.txt into the folder.
 *   node bill.mjs <folder of the image> <name of the image>
 * The npm modules come from npm.cdx.json, which `npm sbom` wrote; this program adds what npm does not know: Node, the packages of
 * Debian, ffmpeg, and the libraries of NVIDIA. It imports no module, because it runs in the image.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FFMPEG = '/opt/ffmpeg/about';
const NVIDIA = '/opt/nvidia/about';
const LICENCE_FILE = /^(licen[cs]e|copying|notice|third[-_]?party)/i;

const [folder, image] = process.argv.slice(2);
const bill = JSON.parse(readFileSync(join(folder, 'npm.cdx.json'), 'utf8'));
const modules = bill.components.filter(
  ({ name, group }) => `${group ?? ''}${name}` !== '' && isInstalled(name, group),
);
bill.components = [...modules, node(), ...debianPackages(), ...ffmpeg(), ...nvidiaLibraries()];
bill.metadata.component = { ...bill.metadata.component, type: 'container', name: image };
const present = new Set([
  bill.metadata.component['bom-ref'],
  ...bill.components.map((each) => each['bom-ref']),
]);
bill.dependencies = bill.dependencies
  .filter(({ ref }) => present.has(ref))
  .map((each) => ({ ...each, dependsOn: each.dependsOn?.filter((ref) => present.has(ref)) }));
writeFileSync(join(folder, 'sbom.cdx.json'), JSON.stringify(bill));
writeFileSync(join(folder, 'licences.txt'), licences(bill.components));
console.log(`${image}: ${bill.components.length} components`);

/** Whether it is in node_modules; Lehr's own workspaces are copied later. */
function isInstalled(name, group) {
  const path = group ? `${group}/${name}` : name;
  return existsSync(join(folder, 'node_modules', path)) || group === '@lehr' || name.startsWith('@lehr/');
}

function node() {
  const version = process.versions.node;
  return component('node', version, `pkg:generic/node@${version}`, 'MIT');
}

function debianPackages() {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a format of dpkg-query.
  const format = '${Package}\\t${Version}\\t${Architecture}\\n';
  const lines = execFileSync('dpkg-query', ['-W', '-f', format], { encoding: 'utf8' }).trim().split('\n');
  return lines.map((line) => {
    const [name, version, arch] = line.split('\t');
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${arch}`;
    return component(name, version, purl, `see /usr/share/doc/${name}/copyright`);
  });
}

/** Built from Debian's source package, so that scanners find its faults by the name and version of that. */
function ffmpeg() {
  if (!existsSync(FFMPEG)) return [];
  const version = readFileSync(join(FFMPEG, 'version'), 'utf8').trim();
  const purl = `pkg:deb/debian/ffmpeg@${encodeURIComponent(version)}?arch=source`;
  return [component('ffmpeg', version, purl, `LGPL-2.1-or-later (${FFMPEG}/COPYING.LGPLv2.1)`)];
}

function nvidiaLibraries() {
  if (!existsSync(NVIDIA)) return [];
  return readdirSync(NVIDIA).map((each) => {
    const text = readFileSync(join(NVIDIA, each, 'METADATA'), 'utf8');
    const field = (name) => new RegExp(`^${name}: (.+)$`, 'm').exec(text)?.[1];
    const name = field('Name');
    const version = field('Version');
    const licence = field('License-Expression') ?? field('License') ?? 'see the files beside METADATA';
    return component(name, version, `pkg:pypi/${name}@${version}`, `${licence} (${NVIDIA}/${each})`);
  });
}

function component(name, version, purl, licence) {
  const licenses = [{ license: { name: licence } }];
  return { 'bom-ref': purl, type: 'library', name, version, purl, licenses };
}

/** One line for each component, then each licence text once with the modules that it came with. */
function licences(components) {
  const lines = components.map((each) => {
    const names = (each.licenses ?? []).map(
      ({ license, expression }) => expression ?? license?.id ?? license?.name,
    );
    return `${full(each)} ${each.version}: ${names.join(', ') || 'not stated'}`;
  });
  const texts = new Map();
  for (const each of modules) {
    for (const text of licenceTexts(full(each))) texts.set(text, [...(texts.get(text) ?? []), full(each)]);
  }
  const rule = '-'.repeat(80);
  const blocks = [...texts].map(([text, names]) => `${rule}\n${names.join(', ')}\n${rule}\n${text}`);
  return `${lines.join('\n')}\n\n${blocks.join('\n')}`;
}

/** The name of a module with its scope. */
function full({ group, name }) {
  return group ? `${group}/${name}` : name;
}

function licenceTexts(name) {
  const place = join(folder, 'node_modules', name);
  if (!existsSync(place)) return [];
  const files = readdirSync(place, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && LICENCE_FILE.test(entry.name),
  );
  return files.map((entry) => readFileSync(join(place, entry.name), 'utf8').trim());
}
