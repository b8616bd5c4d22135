import type { Store } from '../stores/store.js'

/**
 * Wraps a store as a process sees it that can be killed. After `kill`, no call of the wrapper is answered and no watcher
 * is called; others go on with the store itself.
 */
export function mortalStore(store: Store): { readonly store: Store; kill(): void } {
  let isDead = false
  const never = new Promise<never>(() => undefined)
  const handler: ProxyHandler<Store> = {
    get(target, name: keyof Store) {
      const member: unknown = target[name]
      if (typeof member !== 'function') return member
      const call = member.bind(target) as (...args: unknown[]) => unknown
      if (!name.startsWith('watch')) return (...args: unknown[]) => (isDead ? never : call(...args))
      return (...args: unknown[]) => {
        const onChange = args.at(-1) as (change: unknown) => void
        return call(...args.slice(0, -1), (change: unknown) => {
          if (!isDead) onChange(change)
        })
      }
    },
  }
  return {
    store: new Proxy(store, handler),
    kill: () => {
      isDead = true
    },
  }
}
