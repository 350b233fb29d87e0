/** The sentences and labels of adapters and of the picture that guides the drawing. */
export const adapters = {
  title: 'Adapters',
  none: 'none',
  strength: (name: string) => `Strength of ${name}`,
  add: (word: string) => `Write "${word}" at the end of the prompt`,
  isThere: 'In the prompt',
} as const;

const PREPROCESSES: Readonly<Record<string, string>> = {
  none: 'nothing: it is one',
  canny: 'its edges (canny)',
};

export const control = {
  begin: 'Guide the drawing by a picture: drop it here or',
  choose: 'choose a guide',
  picture: 'The picture that guides',
  ofJob: 'of the job before',
  remove: 'Draw without a guide',
  name: 'ControlNet',
  preprocess: 'What is made of it first',
  preprocesses: (each: string) => PREPROCESSES[each] ?? `what ${each} makes of it`,
  scale: 'Guidance by the picture',
  window: 'When it guides',
  start: 'From this share of the steps',
  end: 'Up to this share',
  action: 'Guide by this',
  actionOf: (title: string) => `Guide the next picture by this: ${title}`,
} as const;
