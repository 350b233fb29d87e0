/** The changelog, from the subjects of commits: `area: what it does`. */

const OTHER = 'other';
/** These change nothing for a user. */
const INTERNAL = new Set(['test', 'house', 'lint', 'release']);

/** The section of one version. `subjects` are newest first; `date` is YYYY-MM-DD. */
export function sectionOf(version, date, subjects) {
  const byArea = new Map();
  for (const subject of subjects) {
    const [, area = OTHER, what = subject] = /^([a-z0-9][\w ,-]{0,30}): (.+)$/.exec(subject) ?? [];
    if (INTERNAL.has(area)) continue;
    byArea.set(area, [...(byArea.get(area) ?? []), what]);
  }
  const areas = [...byArea.keys()].sort(
    (a, b) => Number(a === OTHER) - Number(b === OTHER) || (a < b ? -1 : 1),
  );
  const lines = areas.flatMap((area) => [
    `### ${area}`,
    '',
    ...byArea.get(area).map((what) => `- ${escaped(what)}`),
    '',
  ]);
  return [`## ${version} - ${date}`, '', ...(lines.length > 0 ? lines : ['No change for users.', ''])].join(
    '\n',
  );
}

/** Subjects are plain text: an asterisk or an angle bracket in one is no Markdown. */
const escaped = (text) => text.replace(/[\\*<>[\]]/g, '\\$&');

/** Puts the section above the one of the version before. Throws when the changelog already has this version. */
export function withSection(changelog, version, section) {
  if (changelog.includes(`## ${version} `)) throw new Error(`CHANGELOG.md already has ${version}`);
  const at = changelog.search(/^## /m);
  if (at < 0) return `${changelog.trimEnd()}\n\n${section}`;
  return `${changelog.slice(0, at)}${section}\n${changelog.slice(at)}`;
}
