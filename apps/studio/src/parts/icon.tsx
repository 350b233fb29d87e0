/** Icons as paths of a 24 x 24 grid, drawn with strokes. They are decoration: the control beside them has the name. */
const PATHS = {
  make: 'M12 3l1.8 5.2L19 10l-5.2 1.8L12 17l-1.8-5.2L5 10l5.2-1.8zM19 16l.8 2.2L22 19l-2.2.8L19 22l-.8-2.2L16 19l2.2-.8z',
  speak: 'M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM6 11a6 6 0 0 0 12 0M12 17v4',
  gallery: 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15 9h.01',
  compare: 'M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h6v6h-6z',
  belt: 'M3 16h18M6 20h.01M12 20h.01M18 20h.01M4 8h4v5H4zM11 5h4v8h-4zM18 9h2.5v4H18z',
  charts: 'M4 4v16h16M7.5 15.5l4-5 3.5 3 4.5-7',
  admin:
    'M5 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM19 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5 21a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM7 5h4a3 3 0 0 1 3 3v1a3 3 0 0 0 3 3M7 19h4a3 3 0 0 0 3-3v-1a3 3 0 0 1 3-3',
  account: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM5 20a7 7 0 0 1 14 0',
  dice: 'M5 4h14a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1zM8.5 8.5h.01M15.5 8.5h.01M12 12h.01M8.5 15.5h.01M15.5 15.5h.01',
  lock: 'M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3',
  unlock: 'M6 11h12v9H6zM9 11V7a3 3 0 0 1 5.8-1',
  download: 'M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14',
  link: 'M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7L12 7M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7L12 17',
  again: 'M4 12a8 8 0 1 1 2.5 5.8M4 20v-5h5',
  vary: 'M4 7h4l8 10h4M16 7h4M4 17h4l2-2.5M18 5l2 2-2 2M18 15l2 2-2 2',
  edit: 'M14.5 5.5l4 4M5 19l1-4.5L16 4.5a1.4 1.4 0 0 1 2 0L19.5 6a1.4 1.4 0 0 1 0 2L9.5 18z',
  guide: 'M4 17l5-11 4 8 3-5 4 8zM4 21h16',
  upscale: 'M14 4h6v6M20 4l-6.5 6.5M10 20H4v-6M4 20l6.5-6.5',
  brush: 'M20 4l-9 9M11 13a3.5 3.5 0 0 0-5 1c-1 1.6-.5 3.5-3 5 3 1.5 8 1 9-2a3.5 3.5 0 0 0-1-4z',
  eraser: 'M9 20h11M5.5 15.5L14 7l5 5-8 8H9l-3.5-3.5a.7.7 0 0 1 0-1zM10 11l5 5',
  undo: 'M4 9h10a5 5 0 0 1 0 10H9M8 5L4 9l4 4',
  close: 'M6 6l12 12M18 6L6 18',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5',
  trash: 'M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13',
  back: 'M15 5l-7 7 7 7',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  light:
    'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6L7 7M17 17l1.4 1.4M5.6 18.4L7 17M17 7l1.4-1.4',
  dark: 'M20 14a8 8 0 1 1-10-10 6.5 6.5 0 0 0 10 10z',
  auto: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
  page: 'M5 4h14v16H5zM8.5 9h7M8.5 13h7M8.5 17h4',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
