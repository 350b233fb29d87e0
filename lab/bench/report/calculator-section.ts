/** The calculator: how many cards, for how much. It runs in the browser what lab/capacity.md was made with. */
import { msPerPicture, planPictures, planSpeech } from '../capacity/arithmetic.ts';
import { DEVICES, PRICES_FROM, SPEECH } from '../capacity/assumptions.ts';
import { three } from '../harness.ts';
import { type Html, html, scriptTag } from './html.ts';
import { idOf } from './tables.ts';

interface Field {
  readonly id: string;
  readonly text: string;
  readonly value: number;
}

const PICTURE_FIELDS: readonly Field[] = [
  { id: 'picturesPerDay', text: 'Pictures a day', value: 10_000 },
  { id: 'steps', text: 'Steps', value: 20 },
  { id: 'rowsPerPicture', text: 'Rows of a picture (2 with guidance)', value: 2 },
  { id: 'hoursPerDay', text: 'Hours a day in which they come', value: 12 },
  { id: 'load', text: 'Share of the time that a card works', value: 0.7 },
];
const SPEECH_FIELDS: readonly Field[] = [
  { id: 'minutesPerMonth', text: 'Minutes of speech a month', value: 1_000_000 },
  { id: 'hoursPerDay', text: 'Hours a day in which cards work', value: 10 },
  { id: 'days', text: 'Days until all is done', value: 30 },
  { id: 'load', text: 'Share of the time that a card works', value: 0.9 },
];

/** The functions of arithmetic.ts as they are, and what fills the two tables from the fields. */
const script =
  (): string => `${[msPerPicture, planPictures, planSpeech].map((each) => each.toString()).join('\n')}
const devices = ${JSON.stringify(DEVICES)};
const speech = ${JSON.stringify(SPEECH)};
const whole = (value) => Math.round(value).toLocaleString('en');
const fill = (body, rows) => body.replaceChildren(...rows.map((cells) => {
  const row = document.createElement('tr');
  row.append(...cells.map((text) => Object.assign(document.createElement('td'), { textContent: text })));
  return row;
}));
const read = (form) => {
  const values = Object.fromEntries([...form.elements].map(({ name, value }) => [name, Number(value)]));
  return Object.values(values).every((value) => value > 0) ? values : undefined;
};
const watch = (id, rowsOf) => {
  const form = document.querySelector('#' + id);
  const body = document.querySelector('#' + id + '-rows');
  const update = () => {
    const values = read(form);
    if (values) fill(body, rowsOf(values));
  };
  form.addEventListener('input', update);
  update();
};
const prices = (device) => [['on demand', device.onDemand], ['spot', device.spot]];
watch('pictures', (values) => devices.flatMap((device) => prices(device).map(([kind, pricePerHour]) => {
  const plan = planPictures(device.card, { ...values, rowCap: device.rowCap, pricePerHour });
  return [device.name + ', ' + kind, whole(plan.picturesPerCardHour), whole(plan.cards), '$' + whole(plan.dollarsPerMonth), '$' + plan.dollarsPerThousand.toFixed(2)];
})));
watch('speech', (values) => speech.flatMap((device) => prices(device).map(([kind, pricePerHour]) => {
  const plan = planSpeech({ ...values, timesRealTime: device.timesRealTime, pricePerHour });
  return [device.name + ', ' + kind, whole(device.timesRealTime), whole(plan.cardHours), whole(plan.cards), plan.days.toFixed(1), '$' + whole(plan.dollars)];
})));`;

export function calculatorSection(): Html {
  const sources = DEVICES.map(({ name, from }) => `${name}: ${from}`).join('. ');
  return html`<h2 id="${idOf('How many cards')}">How many cards</h2>
<p>Change a number. Nothing here is a measurement of a card: times of devices are published ones, prices are ${PRICES_FROM}. ${sources}. lab/capacity.md shows the same arithmetic step by step.</p>
<div class="cards">${table('Pictures', 'pictures', PICTURE_FIELDS, ['Card', 'Pictures an hour and card', 'Cards', 'A month', '1,000 pictures'])}
${table('Recorded speech', 'speech', SPEECH_FIELDS, ['Card and model', 'Times real time', 'Card hours', 'Cards', 'Days', 'A month'])}</div>
${scriptTag(script())}`;
}

function table(title: string, id: string, fields: readonly Field[], head: readonly string[]): Html {
  const inputs = fields.map(
    ({ id: name, text, value }) =>
      html`<label>${text}<input name="${name}" type="number" min="0" step="any" value="${three(value).replaceAll(',', '')}"></label>`,
  );
  return html`<section class="card"><h3>${title} <span class="tag">calculated</span></h3><form id="${id}" class="fields">${inputs}</form>
<div class="scroll"><table><thead><tr>${head.map((each) => html`<th>${each}</th>`)}</tr></thead><tbody id="${id}-rows"></tbody></table></div></section>`;
}
