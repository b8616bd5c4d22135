import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

// Projects: `unit` is the inner loop (no processes, no ports beyond loopback); `process` starts real
// processes; `crash` kills them under load, and `browser` drives the console in a real browser: both run
// one file at a time. Vitest leaves one core free by itself, which of two is half of the machine.
const maxWorkers = availableParallelism()

const oneAtATime = [
  'test/process/*crash.test.ts',
  'test/process/replicas*.test.ts',
  'test/process/system.test.ts',
  'test/process/two-processes.test.ts',
  'test/process/workflow.test.ts',
]

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
          include: ['test/process/**/*.test.ts'],
          exclude: oneAtATime,
          // After `unit`, which needs all cores for itself.
          sequence: { groupOrder: 1 },
          maxWorkers,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'crash',
          include: oneAtATime,
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
