import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

const source = (path: string) => fileURLToPath(new URL(`../src/${path}`, import.meta.url))

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react()],
  // The public entries of this repository.
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
    // The content security policy forbids inline assets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
