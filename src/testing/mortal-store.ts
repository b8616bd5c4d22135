import type { Store } from '../stores/store.js'

/**
 * Wraps a store as a process sees it that can be killed. After `kill`, no call of the wrapper is answered and no watcher
 * is called; others go on with the store itself.
 */
export function mortalStore<Wrapped extends Store>(store: Wrapped): { readonly store: Wrapped; kill(): void } {
  let isDead = false
  const never = new Promise<never>(() => undefined)
  const mortal = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name)
        if (typeof member === 'object' && member !== null) return mortal(member)
        if (typeof member !== 'function') return member
        const call = (...args: unknown[]): unknown => Reflect.apply(member, target, args)
        if (!String(name).startsWith('watch')) return (...args: unknown[]) => (isDead ? never : call(...args))
        return (...args: unknown[]) => {
          const onChange = args.at(-1) as (change: unknown) => void
          return call(...args.slice(0, -1), (change: unknown) => {
            if (!isDead) onChange(change)
          })
        }
      },
    })
  return {
    store: mortal(store),
    kill: () => {
      isDead = true
    },
  }
}
