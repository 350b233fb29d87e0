/**
 * The folder that a build reads: the files of the repository that .dockerignore leaves in. Docker makes this choice itself;
 * buildah before 1.31 refuses to copy a folder that .dockerignore leaves out and then takes in again, so it gets the folder made.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Copies them from `root`, a git repository, to the new folder `target`. */
export function copyContext(root, target) {
  const left = chooser(readFileSync(join(root, '.dockerignore'), 'utf8'));
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }).split('\0');
  const chosen = files.filter((file) => file !== '' && left(file) && existsSync(join(root, file)));
  if (chosen.length === 0) throw new Error(`.dockerignore leaves no file of ${root} in`);
  for (const file of chosen) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    cpSync(join(root, file), join(target, file), { preserveTimestamps: true });
  }
}

/** The rules of .dockerignore as Docker reads them: the last one that matches a path, or a folder above it, decides. */
function chooser(text) {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const rules = lines.map((line) => ({
    taken: line.startsWith('!'),
    pattern: pattern(line.replace(/^!/, '')),
  }));
  return (path) => rules.findLast((rule) => rule.pattern.test(path))?.taken ?? true;
}

/** `*` is a part of a name, a double one any number of folders. */
function pattern(rule) {
  const parts = rule.split('/').map((part) => (part === '**' ? '.*' : escaped(part)));
  const text = parts.join('/').replaceAll('.*/', '(?:.*/)?');
  return new RegExp(`^${text}(?:/|$)`);
}

const escaped = (part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*');
