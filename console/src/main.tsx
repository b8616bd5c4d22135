import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import { ConsoleProvider } from './server/console-context.js'
import { TextProvider } from './text/text.js'
import './styles/base.css'
import './styles/frame.css'
import './styles/components.css'
import './styles/screens.css'

const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, refetchOnWindowFocus: false, staleTime: 1000 } },
})
const root = document.getElementById('root')
if (!root) throw new Error('There is no root')

createRoot(root).render(
  <StrictMode>
    <TextProvider>
      <QueryClientProvider client={queries}>
        <ConsoleProvider>
          <App />
        </ConsoleProvider>
      </QueryClientProvider>
    </TextProvider>
  </StrictMode>,
)
