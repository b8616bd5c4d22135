import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.js'
import { LinkProvider } from './link/link.js'
import { TextProvider } from './text/text.js'
import './styles/base.css'
import './styles/frame.css'
import './styles/parts.css'
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
        <LinkProvider>
          <App />
        </LinkProvider>
      </QueryClientProvider>
    </TextProvider>
  </StrictMode>,
)
