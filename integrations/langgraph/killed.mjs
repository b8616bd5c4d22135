/** A graph of two nodes. The second one kills the process when it runs for the first time. */
import { appendFileSync, readFileSync } from 'node:fs'
import { AIMessage } from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { serve } from 'dragoman'
import { fromLangGraph } from 'dragoman/langgraph'

const graph = new StateGraph(MessagesAnnotation)
  .addNode('one', () => {
    appendFileSync('runs.txt', 'one\n')
    return { messages: [new AIMessage('one')] }
  })
  .addNode('two', () => {
    appendFileSync('runs.txt', 'two\n')
    if (readFileSync('runs.txt', 'utf8') === 'one\ntwo\n') process.kill(process.pid, 'SIGKILL')
    return { messages: [new AIMessage('two')] }
  })
  .addEdge(START, 'one')
  .addEdge('one', 'two')
  .compile({ checkpointer: SqliteSaver.fromConnString('threads.sqlite') })

const worker = fromLangGraph(graph, { name: 'Worker', onCrash: { attempts: 2 } })
await serve(worker, { port: Number(process.env.PORT), store: 'sqlite:tasks.sqlite' })
