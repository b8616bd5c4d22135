import { defineConfig } from 'vitest/config'

// The root is the folder of a group, see run.mjs.
export default defineConfig({
  test: {
    include: ['*.test.ts'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    fileParallelism: false,
    passWithNoTests: true,
  },
})
