/** Ordinary sentences from 4 to about 60 words, with which the graphs of a text model are tried when it is opened and compared when they are written again. */
export const EXAMPLE_TEXTS: readonly string[] = [
  'The delivery arrived two days late.',
  'Ada Lovelace met Charles Babbage in London on 5 June 1833, and translated a paper about his engine ten years later.',
  'How do I reset my password?',
  'It was not cheap, but the staff were friendly, the rooms were clean, and breakfast was served until eleven; we would come again.',
  'Interest rates rose by half a point in March.',
  'A queue keeps the jobs that wait. A worker claims a job under a lease, renews the lease while the job runs, and stores the result when it ' +
    'has ended; when the worker dies, the lease ends, and another worker claims the job and starts it again from the last checkpoint.',
  'Boil the potatoes for twenty minutes.',
  'Der Zug nach Zürich fährt heute von Gleis 7 ab.',
];
