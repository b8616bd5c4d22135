import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

// Projects: `unit` is the inner loop (no processes, no ports beyond loopback). `process` starts real processes, kills them
// under load and drives the console in a real browser. Vitest leaves one core free by default, which of two is half of
// the machine.
const maxWorkers = availableParallelism()

// Workers inherit it. Lookups of names that do not exist hold threads of Node's pool for seconds on some networks.
process.env.UV_THREADPOOL_SIZE ??= '16'

export default defineConfig({
  resolve: {
    conditions: ['dragoman-source'],
    // The console is a package of its own, which cannot resolve this one by its name.
    alias: { 'dragoman/dialects': fileURLToPath(new URL('src/dialects/index.ts', import.meta.url)) },
  },
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
          maxWorkers,
          // Files that share a worker share the loaded modules; loading them anew for each file took half of the CPU time.
          isolate: false,
          // Nothing here takes long by itself; machines that do several things at once do.
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['test/process/**/*.test.ts', 'test/browser/**/*.test.ts'],
          // After `unit`, which needs all cores for itself.
          sequence: { groupOrder: 1 },
          // These tests wait for processes most of the time; a third worker uses the idle cores.
          maxWorkers: maxWorkers + 1,
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
})
