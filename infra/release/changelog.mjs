/** CHANGELOG.md is written by hand, for those who use Lehr: what is new collects under `## Unreleased` until a release names it. */
const HEAD = '## Unreleased\n';

/** Gives what is unreleased a version and a date. Throws when there is nothing, or when the changelog has this version. */
export function withVersion(changelog, version, date) {
  if (changelog.includes(`## ${version} `)) throw new Error(`CHANGELOG.md already has ${version}`);
  const at = changelog.indexOf(HEAD);
  if (at < 0 || /^\s*(## |$)/.test(changelog.slice(at + HEAD.length)))
    throw new Error(
      `CHANGELOG.md has nothing under "${HEAD.trim()}": write there what is new for those who use Lehr`,
    );
  return changelog.replace(HEAD, `## ${version} - ${date}\n`);
}

/** What the changelog says of one version, without its heading. */
export function notesOf(changelog, version) {
  const [, notes] = changelog.split(`## ${version} - `);
  return notes.replace(/^.*\n/, '').split(/^## /m)[0].trim();
}
