// Run by Bun: a dialer with the default rules must not reach a server on this machine, however it is addressed.
import { createServer } from 'node:http'
import { createGuardedDialer } from 'dragoman/net'

let calls = 0
const server = createServer((_request, response) => {
  calls += 1
  response.end('secret')
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address()

// The name has a public address when it is checked, and that of this machine when it is dialled.
let lookups = 0
const rebinding = async () => (lookups++ === 0 ? ['93.184.216.34'] : ['127.0.0.1'])
const guarded = createGuardedDialer({ httpsOnly: false, lookup: rebinding })
await guarded.check(`http://rebinding.example:${port}/`)
for (const address of [`http://rebinding.example:${port}/`, `http://127.0.0.1:${port}/`, `http://[::1]:${port}/`]) {
  for (const call of [() => guarded.fetch(address), () => guarded.request(address, { method: 'GET' })]) {
    console.log(
      await call().then(
        () => 'REACHED',
        (error) => (error.name === 'Error' ? error.message : error.name),
      ),
    )
  }
}
await guarded.close()
console.log(await guarded.fetch('http://rebinding.example/').catch((error) => error.message))
console.log(`calls: ${calls}`)

const open = createGuardedDialer({ httpsOnly: false, allowPrivate: true })
const answer = open.fetch(`http://127.0.0.1:${port}/`).then((response) => response.text())
console.log(await answer.catch((error) => error.message))
await open.close()
server.close()
