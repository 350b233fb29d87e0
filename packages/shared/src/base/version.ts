/** The version of this program; `npm run release` writes it, with that of every package. */
export const OWN_VERSION = '0.1.0';
