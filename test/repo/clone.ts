/** Copies of the repository: the files that git has, without anything installed or built, or with both. */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { ROOT } from './readme.ts';

/** What .gitignore keeps out, for a copy of the repository that came without git. */
const LEFT_OUT = new Set(['node_modules', 'dist', '.turbo', '.lehr', 'coverage', '.git']);

export interface Clone {
  readonly path: string;
  /** Returns at once; the folder is gone a while later. */
  remove(): void;
}

export function makeClone(): Clone {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'lehr-clone-')));
  if (existsSync(join(ROOT, '.git'))) {
    // Files not yet committed too: it is the tree at hand that is tested.
    const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    for (const file of listed.split('\0').filter((each) => existsSync(join(ROOT, each)) && each !== '')) {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      cpSync(join(ROOT, file), join(path, file));
    }
  } else {
    const filter = (from: string): boolean =>
      !relative(ROOT, from)
        .split('/')
        .some((part) => LEFT_OUT.has(part));
    cpSync(ROOT, path, { recursive: true, filter });
  }
  // Half a gigabyte of modules; some disks take most of a minute to delete them, and no test has to wait for that.
  const remove = (): void => spawn('rm', ['-rf', path], { detached: true, stdio: 'ignore' }).unref();
  return { path, remove };
}

/** A copy in which `npm start` finds its modules and its build, so that it installs and compiles nothing. */
export function makePreparedClone(): Clone {
  const clone = makeClone();
  const [ours, theirs] = [ROOT, clone.path].map((root) => join(root, 'node_modules'));
  mkdirSync(theirs);
  for (const entry of readdirSync(ours, { withFileTypes: true })) {
    const [from, to] = [join(ours, entry.name), join(theirs, entry.name)];
    // Links to workspaces are relative: the copy runs its own packages.
    if (entry.isSymbolicLink() || entry.name === '@lehr')
      cpSync(from, to, { recursive: true, verbatimSymlinks: true });
    else symlinkSync(from, to);
  }
  const built = '.turbo/cache';
  if (existsSync(join(ROOT, built))) cpSync(join(ROOT, built), join(clone.path, built), { recursive: true });
  return clone;
}
