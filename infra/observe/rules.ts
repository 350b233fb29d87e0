/** The shapes of Prometheus's rules, as this folder writes them. */

/** A query whose result Prometheus stores under a new name. */
export interface Recording {
  readonly record: string;
  readonly expr: string;
}

export interface Alert {
  readonly alert: `Lehr${string}`;
  readonly expr: string;
  /** How long the query must give a result before the alert fires. */
  readonly for: `${number}${'m' | 'h'}`;
  /** `page` wakes a person, `ticket` waits for working hours. */
  readonly severity: 'page' | 'ticket';
  /** One line; `{{ $labels.x }}` and `{{ $value }}` are filled in by Prometheus. */
  readonly summary: string;
}
