import { defineConfig } from 'vite';

export default defineConfig({
  root: 'src',
  base: '/studio/',
  resolve: { conditions: ['lehr-source', 'module', 'browser', 'default'] },
  // Nothing inline: the content security policy of the page allows no data: URLs for scripts and styles.
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    target: 'es2022',
    modulePreload: { polyfill: false },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
});
