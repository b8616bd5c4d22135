import { defineConfig } from 'vitest/config'

// Projects: `unit` is the inner loop (no processes, no ports beyond loopback); `process` starts and
// kills real processes, so it runs one file at a time; `browser` drives the console in a real browser.
export default defineConfig({
  resolve: { conditions: ['dragoman-source'] },
  ssr: { resolve: { conditions: ['dragoman-source', 'node'] } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'console/src/**/*.test.ts', 'test/**/*.test.ts', 'conformance/**/*.test.ts'],
          exclude: ['test/process/**', 'test/browser/**'],
          typecheck: { enabled: false },
          // Nothing here takes long by itself; machines that do several things at once do.
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/process/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
