/** An agent in NestJS, at /a2a beside your own routes. */
import 'reflect-metadata'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { agent } from 'dragoman'
import { createHandler, expressMount } from 'dragoman/server'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

class AppModule {}
Module({})(AppModule) // your module

const port = Number(process.env.PORT ?? 3000)
const app = await NestFactory.create(AppModule, { logger: false })
// Before `listen` and `init`: Nest answers everything else with 404 from then on.
app.use('/a2a', expressMount(await createHandler(shout, { publicUrl: `http://localhost:${port}/a2a` })))
await app.listen(port)
console.log(`Shout is at http://localhost:${port}/a2a`)
