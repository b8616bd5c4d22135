// @a2a-js/sdk behind its own gRPC integration, in memory, as its documentation shows it.
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { A2AService, grpcService, UserBuilder } from '@a2a-js/sdk/server/grpc'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { card, echoAgent } from './sdk-agent.mjs'

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echoAgent)
const server = new Server()
server.addService(A2AService, grpcService({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  console.log(`Listening on http://127.0.0.1:${port}`)
})
