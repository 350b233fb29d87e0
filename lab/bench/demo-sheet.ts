/**
 * Draws docs/demo-sheet.png, example prompts with their pictures, through all of Lehr:
 * node --conditions=lehr-source --import=./infra/local/typescript.mjs lab/bench/demo-sheet.ts docs/demo-sheet.png
 */
import sharp from 'sharp';
import { startDemoLehr } from './demo-lehr.ts';

const PROMPTS = [
  'a red circle to the left of a small yellow star on a blue background',
  'two green stars above a yellow square',
  'a red circle on a blue background',
  'un círculo rojo sobre un fondo azul',
  'a crimson disc',
  'blue backdrop with a red ball on it',
  'a large pink heart on a white background',
  'a purple ring next to an orange diamond on a black background',
  'a white cross above a big red heart on a gray background',
  'three yellow stars in a row on a purple background',
  'a green triangle on a background that is blue above and brown below',
  'a yellow circle in the top right corner on a background that is cyan above and green below',
  'from left to right, a red square, a white circle and a black triangle on an orange background',
  'a small brown diamond below a large cyan ring on a pink background',
  'two white hearts to the right of a black cross on a red background',
  'a tiny orange star on a black background',
  'a pink circle between a gray square and a white square on a green background',
  'a big blue square and a small yellow triangle',
  'a golden star beneath a silver ring on a violet background',
  'dos estrellas verdes encima de un cuadrado amarillo',
  'a teal diamond to the right of a scarlet heart, left half white, right half gray',
  'a large yellow cross on a cyan background',
  'the quick brown fox jumps over the lazy dog',
  'a watercolor painting of a lighthouse at dawn',
];
/** The seed of a prompt is this plus its index, so no picture is selected by hand. */
const SEED = 1;
const COLUMNS = 6;
const CELL = { picture: 192, gap: 12, line: 15, lines: 4 };
const LETTERS_PER_LINE = 32;

const [target] = process.argv.slice(2);
if (!target) throw new Error('Give the path of the sheet as the argument.');
const demo = await startDemoLehr();
try {
  const files = await demo.draw(PROMPTS.map((prompt, i) => ({ prompt, seed: SEED + i })));
  await sheet(files, PROMPTS, target);
} finally {
  await demo.close();
}

/** Pictures in rows, each above its prompt. */
async function sheet(files: readonly Uint8Array[], captions: readonly string[], path: string): Promise<void> {
  const { picture, gap, line, lines } = CELL;
  const stepX = picture + gap;
  const stepY = picture + gap + line * lines + 4;
  const width = gap + COLUMNS * stepX;
  const height = gap + Math.ceil(files.length / COLUMNS) * stepY;
  const place = (i: number): { left: number; top: number } => ({
    left: gap + (i % COLUMNS) * stepX,
    top: gap + Math.floor(i / COLUMNS) * stepY,
  });
  const texts = captions.flatMap((caption, i) =>
    wrapped(caption).map((text, k) => {
      const { left, top } = place(i);
      return `<text x="${left}" y="${top + picture + line * (k + 1)}">${escaped(text)}</text>`;
    }),
  );
  const style = 'font-family="DejaVu Sans, sans-serif" font-size="11" fill="#222"';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ${style}>${texts.join('')}</svg>`;
  const pictures = await Promise.all(
    files.map(async (file, i) => ({ input: await sharp(file).resize(picture).toBuffer(), ...place(i) })),
  );
  await sharp({ create: { width, height, channels: 3, background: '#ffffff' } })
    .composite([...pictures, { input: Buffer.from(svg), left: 0, top: 0 }])
    .png({ compressionLevel: 9, palette: true, quality: 95 })
    .toFile(path);
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < LETTERS_PER_LINE)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
