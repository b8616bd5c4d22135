/** A LangGraph graph, served over A2A. Its question waits in SQLite, also while the process is down. */
import { AIMessage } from '@langchain/core/messages'
import { END, interrupt, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { serve } from 'dragoman'
import { fromLangGraph } from 'dragoman/langgraph'

const graph = new StateGraph(MessagesAnnotation)
  .addNode('measure', () => {
    const size = interrupt('Which size?')
    return { messages: [new AIMessage(`A suit in ${size}`)] }
  })
  .addEdge(START, 'measure')
  .addEdge('measure', END)
  .compile({ checkpointer: SqliteSaver.fromConnString('threads.sqlite') })

const tailor = fromLangGraph(graph, { name: 'Tailor', description: 'Makes suits' })
const { url } = await serve(tailor, { port: Number(process.env.PORT ?? 8001), store: 'sqlite:tasks.sqlite' })
console.log(`Tailor is ready at ${url}`)
