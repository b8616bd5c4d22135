// Preloaded by Bun: replaces undici with a module like the one that Bun has for the bare name.
Bun.plugin({
  name: 'replace-undici',
  setup: (build) =>
    build.module('#undici', () => ({ exports: { Agent: class {}, fetch, request: fetch }, loader: 'object' })),
})
