import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

const source = (path: string) => fileURLToPath(new URL(`../src/${path}`, import.meta.url))

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react()],
  // Through the public entries, of the same clone.
  resolve: {
    conditions: ['dragoman-source', ...defaultClientConditions],
    alias: {
      'dragoman/client': source('client/index.ts'),
      'dragoman/dialects': source('dialects/index.ts'),
      'dragoman/console': source('console/console-api.ts'),
      'dragoman/orchestrator': source('orchestrator/index.ts'),
    },
  },
  build: {
    outDir: '../dist/console/page',
    emptyOutDir: true,
    assetsDir: 'console/assets',
    target: 'es2022',
    // Nothing is written into the page: its policy forbids it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
