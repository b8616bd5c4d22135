/** @a2a-js/sdk with its gRPC integration, in memory, configured as in its documentation. */
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-sdk-v1/server'
import { A2AService, grpcService, UserBuilder } from 'a2a-sdk-v1/server/grpc'
import { card, echoAgent } from './sdk-agent.ts'

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), echoAgent)
const server = new Server()
server.addService(A2AService, grpcService({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error
  console.log(`Listening on http://127.0.0.1:${port}`)
})
