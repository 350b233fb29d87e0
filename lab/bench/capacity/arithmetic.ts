/**
 * The arithmetic of capacity. lab/capacity.md shows it with numbers, and the calculator of the report runs the same functions in the
 * browser; so each function uses only its arguments and the functions of this file.
 */

/** A step of r rows takes `max(floorMs, stepBaseMs + stepPerRowMs * r)`. */
export interface Card {
  readonly stepBaseMs: number;
  readonly stepPerRowMs: number;
  readonly floorMs: number;
  readonly pictureMs: number;
  readonly textMs: number;
}

export interface PictureWork {
  readonly picturesPerDay: number;
  readonly steps: number;
  /** 2 with guidance, 1 without. */
  readonly rowsPerPicture: number;
  /** Rows of a full call. */
  readonly rowCap: number;
  /** Hours of a day in which the pictures come. */
  readonly hoursPerDay: number;
  /** Share of the time in which a card works. */
  readonly load: number;
  /** US dollars. */
  readonly pricePerHour: number;
}

export interface PicturePlan {
  readonly msPerPicture: number;
  readonly picturesPerCardHour: number;
  readonly cards: number;
  readonly dollarsPerMonth: number;
  readonly dollarsPerThousand: number;
}

/** Time of the card for one picture when every call is full. */
export function msPerPicture(
  card: Card,
  work: Pick<PictureWork, 'steps' | 'rowsPerPicture' | 'rowCap'>,
): number {
  const step = Math.max(card.floorMs, card.stepBaseMs + card.stepPerRowMs * work.rowCap);
  return card.textMs + (work.steps * step * work.rowsPerPicture) / work.rowCap + card.pictureMs;
}

/** Cards run only in the hours in which pictures come; a month has 30 days. */
export function planPictures(card: Card, work: PictureWork): PicturePlan {
  const ms = msPerPicture(card, work);
  const picturesPerCardHour = (work.load * 3_600_000) / ms;
  const cards = Math.max(1, Math.ceil(work.picturesPerDay / work.hoursPerDay / picturesPerCardHour));
  const dollarsPerDay = cards * work.hoursPerDay * work.pricePerHour;
  return {
    msPerPicture: ms,
    picturesPerCardHour,
    cards,
    dollarsPerMonth: 30 * dollarsPerDay,
    dollarsPerThousand: (1000 * dollarsPerDay) / work.picturesPerDay,
  };
}

export interface SpeechWork {
  readonly minutesPerMonth: number;
  /** Seconds of speech that one card transcribes in a second. */
  readonly timesRealTime: number;
  /** Hours of a day in which cards work. */
  readonly hoursPerDay: number;
  /** Days of a month by which all of it must be done. */
  readonly days: number;
  readonly load: number;
  readonly pricePerHour: number;
}

export interface SpeechPlan {
  readonly cardHours: number;
  readonly cards: number;
  /** Days that these cards need. */
  readonly days: number;
  readonly dollars: number;
}

export function planSpeech(work: SpeechWork): SpeechPlan {
  const cardHours = work.minutesPerMonth / 60 / work.timesRealTime / work.load;
  const cards = Math.max(1, Math.ceil(cardHours / (work.hoursPerDay * work.days)));
  return {
    cardHours,
    cards,
    days: cardHours / (cards * work.hoursPerDay),
    dollars: cardHours * work.pricePerHour,
  };
}
