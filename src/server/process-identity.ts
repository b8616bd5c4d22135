/** Names this process in leases, and tells whether another process of this machine is dead (E-9). */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** `place/pid/start time/random`: a process id alone may have been given to somebody else since. */
export function processIdentity(place = placeOf(boot())): string {
  const random = Math.random().toString(36).slice(2, 10)
  return `${place || hostname()}/${process.pid}/${processTable(process.pid)?.started ?? '?'}/${random}`
}

/** Nobody is dead who may be elsewhere: a living replica that is disowned loses its tasks. */
export function isProcessDead(owner: string, here = placeOf(boot())): boolean {
  const [place, pidText, started] = owner.split('/')
  const pid = Number(pidText)
  if (here === '' || place !== here || !Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
  // Alive, but is it the same process, and not a zombie? Where the system tells, look.
  const now = processTable(pid)
  if (!now) return false
  return now.state === 'Z' || (started !== '?' && started !== now.started)
}

/**
 * Where process ids mean something: one namespace of one machine. Machines made from one template share a host name and,
 * outside of containers, the number of the namespace; containers of one machine share its boot. Without a boot a machine
 * cannot be told from its twins, so it is no place at all.
 */
export function placeOf(boot: string): string {
  if (boot === '') return ''
  return `${hostname()}:${boot}:${attempt(() => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')) ?? ''}`
}

let known: string | undefined

/** What no other machine has, and this one only until it is started again; empty where the system does not tell. */
function boot(): string {
  known ??= attempt(readBoot)?.trim() ?? ''
  return known
}

function readBoot(): string {
  return process.platform === 'darwin'
    ? execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8', timeout: 2000 })
    : readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
}

/** State and start (in ticks since boot) from Linux's process table; absent on other systems. */
function processTable(pid: number): { readonly state: string; readonly started: string } | undefined {
  const stat = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (stat === undefined) return undefined
  // The name in parentheses may contain anything, so count fields behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0] ?? '', started: fields[19] ?? '' }
}

function attempt<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
