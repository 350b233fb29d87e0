/** Which words a LoRA was trained with: the programs that train some write them into the metadata of its file. */

const MOST_WORDS = 4;
const MAX_LENGTH = 200;
/** Of how many of the pictures a word describes, so that it may be what the adapter is called by. */
const SHARE_OF_MOST = 0.9;

export function triggerWords(metadata: Readonly<Record<string, string>>): string[] {
  const said = (metadata['modelspec.trigger_phrase'] ?? '').split(',');
  const words = said.some((each) => each.trim() !== '') ? said : mostTags(metadata.ss_tag_frequency);
  const plain = words.map((each) => each.replace(/[\p{Cc}\s]+/gu, ' ').trim());
  return [...new Set(plain)].filter((each) => each !== '' && each.length <= MAX_LENGTH).slice(0, MOST_WORDS);
}

/** `{ folder: { tag: pictures } }`: the tags that nearly all pictures of a folder have. */
function mostTags(json: string | undefined): string[] {
  const counted = new Map<string, number>();
  for (const tags of Object.values(recordIn(json))) {
    const counts = Object.entries(recordOf(tags)).flatMap(([tag, count]) =>
      typeof count === 'number' && count > 1 ? [[tag, count] as const] : [],
    );
    const most = counts.reduce((largest, [, count]) => Math.max(largest, count), 0);
    for (const [tag, count] of counts)
      if (count >= most * SHARE_OF_MOST) counted.set(tag, (counted.get(tag) ?? 0) + count);
  }
  return [...counted].sort(([, a], [, b]) => b - a).map(([tag]) => tag);
}

function recordIn(json = '{}'): Record<string, unknown> {
  try {
    return recordOf(JSON.parse(json));
  } catch {
    return {};
  }
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
